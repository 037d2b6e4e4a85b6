import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { Instant } from '@gantry/base';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

x509.cryptoProvider.set(webcrypto);

/** The implementation of `requests.ts`, which loads it on first use. */
export async function generateKey(): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

export async function createRequest(subject: string, dnsNames: readonly string[], key: string): Promise<string> {
  const names = dnsNames.map((value) => ({ type: 'dns' as const, value }));
  return sign(subject, names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)], key);
}

export async function createRenewalRequest(
  certificate: string,
  key: string,
  addresses: readonly string[] = [],
): Promise<{ readonly request: string; readonly subject: string }> {
  const old = new x509.X509Certificate(certificate);
  const names = old.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const known = new Set(names.map(({ value }) => value));
  const added = addresses.filter((value) => !known.has(value)).map((value) => ({ type: 'ip' as const, value }));
  const all = [...names, ...added];
  const extensions = all.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(all)];
  return { request: await sign(old.subject, extensions, key), subject: old.subject };
}

export async function createSelfSigned(
  hosts: readonly string[],
  { notBefore, notAfter }: { readonly notBefore: Instant; readonly notAfter: Instant },
): Promise<{ readonly certificate: string; readonly key: string }> {
  const key = await generateKey();
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // Positive, with 63 random bits.
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    // A common name has at most 64 characters, and a name of the cluster may be longer; who verifies reads only the hosts.
    name: 'CN=self-signed',
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
    signingAlgorithm: ALGORITHM,
    keys: await importKey(key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names),
    ],
  });
  return { certificate: `${certificate.toString('pem').trim()}\n`, key };
}

async function sign(subject: string, extensions: x509.Extension[], key: string): Promise<string> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys: await importKey(key),
    signingAlgorithm: ALGORITHM,
    extensions,
  });
  return request.toString('pem');
}

async function importKey(key: string): Promise<webcrypto.CryptoKeyPair> {
  const jwk = createPrivateKey(key).export({ format: 'jwk' });
  const { kty, crv, x, y } = jwk;
  const publicJwk = { kty, crv, x, y } as webcrypto.JsonWebKey;
  return {
    privateKey: await webcrypto.subtle.importKey('jwk', jwk, ALGORITHM, true, ['sign']),
    publicKey: await webcrypto.subtle.importKey('jwk', publicJwk, ALGORITHM, true, ['verify']),
  };
}
