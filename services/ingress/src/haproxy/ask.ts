import { createConnection } from 'node:net';
import { type Clock, pause } from '@gantry/base';

const ANSWER_MS = 30_000;
/** For a start with many backends on a busy machine. */
const START_MS = 60_000;
const POLL_MS = 20;
/** Errors of a socket that HAProxy has not made yet, or does not listen on yet. */
const NOT_YET: readonly (string | undefined)[] = ['ENOENT', 'ECONNREFUSED'];

/** HAProxy does not do what it was asked. */
export class HaproxyError extends Error {
  override readonly name = 'HaproxyError';
}

/** Sends a command with its payload to a socket of HAProxy and returns the response. */
export function ask(socket: string, line: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const parts: Buffer[] = [];
  const connection = createConnection({ path: socket, signal });
  connection.setTimeout(ANSWER_MS, () => connection.destroy(new HaproxyError(`no answer within ${ANSWER_MS} ms`)));
  connection.on('data', (part: Buffer) => parts.push(part));
  connection.on('error', reject);
  connection.on('close', () => resolve(Buffer.concat(parts).toString('utf8').trim()));
  connection.end(`${line}\n`);
  return promise;
}

/** Waits until HAProxy answers at a socket. Fails where it does not within a minute, and at once where it never will. */
export async function untilAnswering(socket: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const until = clock.monotonicMs() + START_MS;
  for (;;) {
    try {
      await ask(socket, 'show version', signal);
      return;
    } catch (error) {
      const isNotYet = NOT_YET.includes((error as NodeJS.ErrnoException).code);
      if (signal.aborted || !isNotYet || clock.monotonicMs() > until) throw error;
    }
    await pause(clock, POLL_MS, signal);
  }
}
