import 'reflect-metadata';
import { createPrivateKey, generateKeyPairSync, randomBytes, webcrypto } from 'node:crypto';
import type { Instant } from '@gantry/base';
import type { TlsMaterial } from '@gantry/tls';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

x509.cryptoProvider.set(webcrypto);

/** A certificate authority for one test run. */
export interface TestPki {
  readonly ca: string;
  /** A server and client certificate, valid for loopback names and `names`. */
  issue(commonName: string, organizations: readonly string[], names?: readonly string[]): Promise<TlsMaterial>;
  /** A certificate (PEM) with the names of a PKCS #10 request (PEM). It is valid for seven days from `now` on, by default the run's start. */
  sign(request: string, now?: Instant): Promise<string>;
  /** The client certificate of the front proxy, which has its own CA. */
  issueFrontProxy(): Promise<TlsMaterial>;
  /** A private key (PEM) that signs service account tokens. */
  readonly serviceAccountKey: string;
}

export async function createTestPki(now: Instant): Promise<TestPki> {
  const main = await createAuthority('gantry-test-ca', now);
  const frontProxy = await createAuthority('gantry-test-front-proxy-ca', now);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return {
    ca: main.ca,
    serviceAccountKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    issue: main.issue,
    sign: main.sign,
    issueFrontProxy: () => frontProxy.issue('front-proxy-client', []),
  };
}

async function createAuthority(name: string, now: Instant): Promise<Pick<TestPki, 'ca' | 'issue' | 'sign'>> {
  const keys = await generate();
  const validFrom = (start: Instant) => ({
    notBefore: new Date(start - 60_000),
    notAfter: new Date(start + 7 * DAY_MS),
  });
  const validity = validFrom(now);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(8).toString('hex'),
    name: `CN=${name}`,
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const ca = authority.toString('pem');
  return {
    ca,
    sign: async (pem, start = now) => {
      const request = new x509.Pkcs10CertificateRequest(pem);
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: randomBytes(8).toString('hex'),
        subject: request.subject,
        issuer: authority.subject,
        ...validFrom(start),
        signingAlgorithm: ALGORITHM,
        publicKey: await request.publicKey.export(ALGORITHM, ['verify']),
        signingKey: keys.privateKey,
        extensions: request.extensions,
      });
      return certificate.toString('pem');
    },
    issue: async (commonName, organizations, names = []) => {
      const own = await generate();
      const subject = new x509.Name([...organizations.map((o) => ({ O: [o] })), { CN: [commonName] }]);
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: randomBytes(8).toString('hex'),
        subject: subject.toString(),
        issuer: authority.subject,
        ...validity,
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth]),
          new x509.SubjectAlternativeNameExtension([
            ...['localhost', ...names].map((value) => ({ type: 'dns' as const, value })),
            { type: 'ip', value: '127.0.0.1' },
          ]),
        ],
      });
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey));
      const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
      return {
        ca: Buffer.from(ca),
        cert: Buffer.from(certificate.toString('pem')),
        key: Buffer.from(key.export({ type: 'pkcs8', format: 'pem' }).toString()),
      };
    },
  };
}

function generate(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}
