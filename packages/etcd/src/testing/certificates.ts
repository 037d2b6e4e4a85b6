import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import type { TlsMaterial } from '@gantry/tls';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

/**
 * Issues certificates for servers and clients by common name, all from one throw-away authority. `host` is the address or name of a server.
 */
export type Issue = (commonName: string, host?: string) => Promise<TlsMaterial>;

export async function createTestAuthority(): Promise<Issue> {
  x509.cryptoProvider.set(webcrypto);
  const generate = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const caKeys = await generate();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: 'CN=test-ca',
    signingAlgorithm: ALGORITHM,
    keys: caKeys,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  return async (commonName, host = '127.0.0.1') => {
    const keys = await generate();
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity,
      subject: new x509.Name([{ CN: [commonName] }]).toString(),
      issuer: ca.subject,
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      extensions: [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: isIP(host) === 0 ? 'dns' : 'ip', value: host }]),
      ],
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
    return {
      ca: Buffer.from(ca.toString('pem')),
      cert: Buffer.from(certificate.toString('pem')),
      key: Buffer.from(x509.PemConverter.encode(key, 'PRIVATE KEY')),
    };
  };
}
