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

/**
 * Knows the one token, `<id>.<secret>`, with which an agent asks for its first certificate. The file is read again when it
 * may have changed; without a file no such token is valid.
 */
export function createBootstrapAuthenticator(folder: string, clock: Clock, logger: Logger): TokenAuthenticator {
  const file = join(folder, 'token');
  let token: string | undefined;
  let readAt: Instant = Number.NEGATIVE_INFINITY;
  const refresh = async (): Promise<void> => {
    if (clock.monotonicMs() - readAt < READ_AGAIN_MS) return;
    readAt = clock.monotonicMs();
    try {
      token = (await readFile(file, 'utf8')).trim();
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
      return authenticated(`system:bootstrap:${id}`, ['system:bootstrappers']);
    },
  };
}

/** Compares without telling by its time how much was right. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
