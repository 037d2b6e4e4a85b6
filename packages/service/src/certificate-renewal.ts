import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, ControlLoop, errorMessage, type Instant, type Random } from '@gantry/base';
import { certificateLife, createRenewalRequest, generateKey, TlsFilesError } from '@gantry/tls';
import type { Logger } from './logger.ts';
import type { GroupMember } from './run-group.ts';

/** Gets a certificate (PEM) for a PKCS #10 request (PEM). May take minutes. */
export type RequestCertificate = (request: string, signal: AbortSignal) => Promise<string>;

/** Options: the folder and the signer of its certificate. */
export interface CertificateRenewalOptions {
  /** A TLS folder that this process may write; others may share it. */
  readonly folder: string;
  readonly requestCertificate: RequestCertificate;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const LOOK_EVERY_MS = 3_600_000;
const RETRY = { initialMs: 60_000, maxMs: 60_000, jitter: 0.1 };
/** A lock this old belongs to a process that died during a renewal. */
const LOCK_STALE_MS = 600_000;

/**
 * Renews the certificate in a TLS folder after two thirds of its life, with a new key and the same subject and names. A lock file prevents
 * simultaneous renewals by processes that share the folder. Runs until aborted; failures are retried.
 */
export function certificateRenewal(options: CertificateRenewalOptions): GroupMember {
  const { clock, random, logger, folder } = options;
  return new ControlLoop({
    name: 'certificate-renewal',
    round: async (signal) => {
      const dueMs = (await renewalTime(folder)) - clock.now();
      if (dueMs <= 0) await renew(options, signal);
      const waitMs = dueMs <= 0 ? RETRY.initialMs : Math.min(dueMs, LOOK_EVERY_MS);
      return waitMs * (1 + random() / 10);
    },
    retry: RETRY,
    onError: (error) => logger.warn({ folder, reason: errorMessage(error) }, 'certificate not renewed'),
    clock,
    random,
  });
}

async function renewalTime(folder: string): Promise<Instant> {
  return certificateLife(await readFile(join(folder, 'tls.crt'))).renewAt;
}

async function renew(options: CertificateRenewalOptions, signal: AbortSignal): Promise<void> {
  const { folder, clock, logger } = options;
  const lock = join(folder, '.renewal');
  if (!(await takeLock(lock, clock.now()))) return;
  try {
    // Another process may have renewed the certificate before this one got the lock.
    if ((await renewalTime(folder)) > clock.now()) return;
    const key = await generateKey();
    const { request, subject } = await createRenewalRequest(await readFile(join(folder, 'tls.crt'), 'utf8'), key);
    await replaceFiles(folder, key, await options.requestCertificate(request, signal));
    logger.info({ folder, subject }, 'certificate renewed');
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string, now: Instant): Promise<boolean> {
  try {
    await (await open(lock, 'wx')).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const { mtimeMs } = await stat(lock);
  if (now - mtimeMs > LOCK_STALE_MS) await rm(lock, { force: true });
  return false;
}

/** Writes both files before it renames either, to keep the time short in which only one of them is new. */
async function replaceFiles(folder: string, key: string, certificate: string): Promise<void> {
  if (!certificate.includes('BEGIN CERTIFICATE')) throw new TlsFilesError('the signer returned no certificate');
  const files = { 'tls.key': key, 'tls.crt': certificate };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, `.${name}.new`), text, { mode: 0o600 });
  for (const name of Object.keys(files)) await rename(join(folder, `.${name}.new`), join(folder, name));
}
