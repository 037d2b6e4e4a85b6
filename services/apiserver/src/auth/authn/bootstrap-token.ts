import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, type Instant } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { authenticated } from './identity.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

const FORM = /^([a-z0-9]{6})\.([a-z0-9]{16,})$/;
/** The file is rotated rarely and read seldom: a new token works at most this much later. */
const READ_AGAIN_MS = 1000;
/** How long a token is valid after `made-at`. */
const LIFE_MS = 24 * 3_600_000;
/** A clock of the certificate job that is ahead of this one's. */
const SKEW_MS = 60_000;

/**
 * Knows the one token, `<id>.<secret>`, with which an agent asks for its first certificate, for a day after the time in `made-at`.
 * The files are read again when they may have changed; without them no such token is valid.
 */
export function createBootstrapAuthenticator(folder: string, clock: Clock, logger: Logger): TokenAuthenticator {
  const file = join(folder, 'token');
  let token: string | undefined;
  let madeAt: Instant = Number.NaN;
  let readAt: Instant = Number.NEGATIVE_INFINITY;
  const refresh = async (): Promise<void> => {
    if (clock.monotonicMs() - readAt < READ_AGAIN_MS) return;
    readAt = clock.monotonicMs();
    try {
      // The job writes the token first: read in the other order, a new token never has an older one's time on its side.
      const time = await readFile(join(folder, 'made-at'), 'utf8');
      token = (await readFile(file, 'utf8')).trim();
      madeAt = Date.parse(time.trim());
    } catch (error) {
      token = undefined;
      logger.debug({ file, reason: errorMessage(error) }, 'no bootstrap token');
    }
  };
  return {
    authenticate: async (presented) => {
      const id = FORM.exec(presented)?.[1];
      if (id === undefined) return undefined;
      await refresh();
      if (token === undefined || !sameText(token, presented)) return undefined;
      const age = clock.now() - madeAt;
      // Also false for a time that cannot be read.
      if (!(age >= -SKEW_MS && age < LIFE_MS)) return undefined;
      return authenticated(`system:bootstrap:${id}`, ['system:bootstrappers']);
    },
  };
}

/** Compares without telling by its time how much was right. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
