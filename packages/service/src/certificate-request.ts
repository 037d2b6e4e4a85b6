import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

x509.cryptoProvider.set(webcrypto);

/** A new private key (PEM) and a PKCS #10 request (PEM) for the subject and names of a certificate. */
export async function createRenewalRequest(
  certificate: string,
): Promise<{ readonly key: string; readonly request: string; readonly subject: string }> {
  const old = new x509.X509Certificate(certificate);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const names = old.getExtension(x509.SubjectAlternativeNameExtension);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: old.subject,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: names === null ? [] : [names],
  });
  return { key: await exportKey(keys.privateKey), request: request.toString('pem'), subject: old.subject };
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}
