import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import * as x509 from '@peculiar/x509';
import { expect, it, onTestFinished } from 'vitest';
import { generateKey } from './certificate-request.ts';
import { openTlsFolder } from './tls-folder.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Writes a self-signed certificate. */
async function writeSelfSigned(folder: string): Promise<void> {
  const pem = await generateKey();
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
  const { d: _, key_ops: __, ...jwk } = await webcrypto.subtle.exportKey('jwk', privateKey);
  const publicKey = await webcrypto.subtle.importKey('jwk', jwk, ALGORITHM, true, ['verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=test',
    signingAlgorithm: ALGORITHM,
    keys: { privateKey, publicKey },
  });
  await writeFile(join(folder, 'ca.crt'), 'ca');
  await writeFile(join(folder, 'tls.key'), pem);
  await writeFile(join(folder, 'tls.crt'), certificate.toString('pem'));
}

it('is read at intervals where the kernel watches no more folders', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-tls-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeSelfSigned(folder);
  const clock = new ManualClock();
  const warnings: string[] = [];
  const logger = { info: () => undefined, warn: (_fields: object, text: string) => void warnings.push(text) };
  const watchPath = () => {
    throw Object.assign(new Error('EMFILE: too many open files, watch'), { code: 'EMFILE' });
  };
  using tls = await openTlsFolder(folder, { clock, logger, watchPath }, new AbortController().signal);
  expect(warnings).toEqual(['watching TLS files failed']);
  const before = tls.current();
  await writeSelfSigned(folder);
  const current = async () => {
    await clock.advance(60_000);
    return tls.current();
  };
  await expect.poll(current).not.toBe(before);
});
