import { type Clock, sleep, withDeadline } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';

/** The result of one poll: a value, or what is still missing. */
export type Look<T> = { readonly done: true; readonly value: T } | { readonly done: false; readonly missing: string };

/** Time limit of one poll; a connection that was lost silently is then opened again. */
const LOOK_MS = 3_000;

/** Polls until done; on timeout fails with what was missing last. */
export async function waitUntil<T>(
  options: { readonly clock: Clock; readonly what: string; readonly timeoutMs: number; readonly everyMs: number },
  look: (signal: AbortSignal) => Promise<Look<T>>,
  note: (missing: string) => void,
): Promise<T> {
  const { clock, what, timeoutMs, everyMs } = options;
  using deadline = withDeadline(clock, new AbortController().signal, timeoutMs);
  let missing = 'nothing seen yet';
  while (!deadline.aborted) {
    using attempt = withDeadline(clock, deadline, LOOK_MS);
    const found = await look(attempt);
    if (found.done) return found.value;
    missing = found.missing;
    note(missing);
    try {
      await sleep(clock, everyMs, deadline);
    } catch {
      break; // Timeout: reported below with what was missing.
    }
  }
  throw new CommandError(`${what} took longer than ${timeoutMs / 1000} s: ${missing}`, 'look at: npm run status');
}
