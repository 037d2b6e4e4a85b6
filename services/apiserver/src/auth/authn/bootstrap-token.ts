import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, type Instant } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { authenticated } from './identity.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

const FORM = /^([a-z0-9]{6})\.([a-z0-9]{16,})$/;
/** Minimum time between reads of the file. A new token is valid at most this much later. */
const READ_AGAIN_MS = 1000;
/** How long a token is valid after the time in `made-at`. */
const LIFE_MS = 24 * 3_600_000;
/** Tolerance for a clock of the certificate job that is ahead. */
const SKEW_MS = 60_000;

/**
 * Authenticates the bootstrap token, `<id>.<secret>`, with which an agent requests its first certificate. The token is valid for a day
 * after the time in `made-at`. The files are read again regularly; without them, no token is valid.
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
      // The job writes the token before the time. Reading in the other order prevents that an old token gets the time of a new one.
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
      // The condition is also false for an invalid time.
      if (!(age >= -SKEW_MS && age < LIFE_MS)) return undefined;
      return authenticated(`system:bootstrap:${id}`, ['system:bootstrappers']);
    },
  };
}

/** Compares in constant time. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
