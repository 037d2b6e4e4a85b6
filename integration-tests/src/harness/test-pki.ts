import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 3_600_000;

x509.cryptoProvider.set(webcrypto);

/** What a server of the test's own shows, and whom to trust for it. PEM. */
export interface ServerIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A certificate for this machine's addresses, as a server and as a client, of an authority that is made for it. */
export async function issueServerIdentity(names: readonly string[] = []): Promise<ServerIdentity> {
  const [authorityKeys, keys] = [await generate(), await generate()];
  const validity = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + 24 * HOUR_MS) };
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(8).toString('hex'),
    name: 'CN=conformance-test-ca',
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys: authorityKeys,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(8).toString('hex'),
    subject: 'CN=conformance-test-server',
    issuer: authority.subject,
    ...validity,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...['localhost', ...names].map((value) => ({ type: 'dns' as const, value })),
        ...addresses().map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
  return { ca: authority.toString('pem'), cert: certificate.toString('pem'), key };
}

function addresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ family }) => family === 'IPv4')
    .map(({ address }) => address);
}

function generate(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}
