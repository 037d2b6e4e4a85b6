import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import type { Instant } from '@gantry/base';
import type { TlsMaterial } from '@gantry/tls';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

/** Issues server and client certificates for `CN=node-a,O=system:nodes` from one temporary authority. */
export type Issue = (subject: string, name: string) => Promise<TlsMaterial>;

export async function createAuthority(now: Instant): Promise<Issue> {
  x509.cryptoProvider.set(webcrypto);
  const generate = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) };
  const authorityKeys = await generate();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: 'CN=test-ca',
    signingAlgorithm: ALGORITHM,
    keys: authorityKeys,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  return async (subject, name) => {
    const keys = await generate();
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity,
      subject,
      issuer: authority.subject,
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: authorityKeys.privateKey,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
    return {
      ca: Buffer.from(authority.toString('pem')),
      cert: Buffer.from(certificate.toString('pem')),
      key: Buffer.from(`-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`),
    };
  };
}
