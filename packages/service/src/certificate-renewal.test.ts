import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@gantry/base';
import * as x509 from '@peculiar/x509';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { certificateRenewal } from './certificate-renewal.ts';
import { readTlsFolder } from '@gantry/tls';
import { silentLogger } from './logger.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 3_600_000;

x509.cryptoProvider.set(webcrypto);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-renewal-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A signer that signs every request. The certificate is valid from `fromMs` to `toMs`, relative to now. */
async function createSigner(): Promise<(request: string, fromMs: number, toMs: number) => Promise<string>> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const now = systemClock.now();
  return async (pem, fromMs, toMs) => {
    const request = new x509.Pkcs10CertificateRequest(pem);
    const names = request.getExtension('2.5.29.17');
    const certificate = await x509.X509CertificateGenerator.create({
      subject: request.subject,
      issuer: 'CN=test-ca',
      notBefore: new Date(now + fromMs),
      notAfter: new Date(now + toMs),
      publicKey: await request.publicKey.export(ALGORITHM, ['verify']),
      signingKey: keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: names === null ? [] : [names],
    });
    return certificate.toString('pem');
  };
}

/** Writes a certificate for the scheduler that is `fromMs` old and expires in `toMs`. */
async function writeOld(sign: Awaited<ReturnType<typeof createSigner>>, fromMs: number, toMs: number): Promise<void> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'O=gantry:services, CN=system:kube-scheduler',
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'scheduler' }])],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  await writeFile(join(folder, 'ca.crt'), 'ca');
  await writeFile(join(folder, 'tls.key'), `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`);
  await writeFile(join(folder, 'tls.crt'), await sign(request.toString('pem'), fromMs, toMs));
}

describe('certificateRenewal', () => {
  it('replaces key and certificate after two thirds of its life, for the same subject and names', async () => {
    const sign = await createSigner();
    await writeOld(sign, -3 * HOUR_MS, HOUR_MS);
    const before = await readTlsFolder(folder);
    const stopping = new AbortController();
    const renewed = Promise.withResolvers<void>();
    const options = {
      folder,
      clock: systemClock,
      random: () => 0,
      logger: { ...silentLogger, info: () => renewed.resolve() },
      requestCertificate: (request: string) => sign(request, -HOUR_MS, 24 * HOUR_MS),
    };
    const running = certificateRenewal(options).run(stopping.signal);
    await renewed.promise;
    stopping.abort();
    await running;
    const after = await readTlsFolder(folder);
    expect(after.key.equals(before.key)).toBe(false);
    const certificate = new x509.X509Certificate(after.cert.toString());
    expect(certificate.subject).toBe('O=gantry:services, CN=system:kube-scheduler');
    expect(certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON()).toEqual([
      { type: 'dns', value: 'scheduler' },
    ]);
    expect((await readdir(folder)).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  });
});
