import { type Clock, errorMessage, pause, withDeadline } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';

/** The result of one poll: a value, or what is still missing. */
export type Look<T> = { readonly done: true; readonly value: T } | { readonly done: false; readonly missing: string };

export interface Wait {
  readonly clock: Clock;
  readonly what: string;
  /** Ends waits that never succeed. It has to be long: a busy machine takes minutes for what otherwise takes seconds. */
  readonly timeoutMs: number;
  readonly everyMs: number;
  /** Why the wait cannot succeed, or undefined; called every ten seconds. */
  readonly whyInVain?: () => Promise<string | undefined>;
}

/** Time limit of one poll; a connection that was lost silently is then opened again. */
const LOOK_MS = 10_000;
const IN_VAIN_EVERY_MS = 10_000;

/** Polls until done. Fails with what was missing last after the time limit, and as soon as it waits in vain. */
export async function waitUntil<T>(
  wait: Wait,
  look: (signal: AbortSignal) => Promise<Look<T>>,
  note: (missing: string) => void,
): Promise<T> {
  const { clock, what, timeoutMs, everyMs, whyInVain } = wait;
  using deadline = withDeadline(clock, new AbortController().signal, timeoutMs);
  let missing = 'nothing seen yet';
  let askAtMs = clock.monotonicMs() + IN_VAIN_EVERY_MS;
  while (!deadline.aborted) {
    using attempt = withDeadline(clock, deadline, LOOK_MS);
    const found = await look(attempt);
    if (found.done) return found.value;
    missing = found.missing;
    note(missing);
    if (whyInVain !== undefined && clock.monotonicMs() >= askAtMs) {
      const reason = await whyInVain();
      if (reason !== undefined) throw failure(`${what}: ${reason} (${missing})`);
      askAtMs = clock.monotonicMs() + IN_VAIN_EVERY_MS;
    }
    await pause(clock, everyMs, deadline);
  }
  throw failure(`${what} took longer than ${timeoutMs / 1000} s: ${missing}`);
}

/** Polls until `attempt` succeeds. While it fails, the last line of its error says what is missing. */
export async function untilSucceeds(
  wait: Wait,
  attempt: () => Promise<unknown>,
  note: (missing: string) => void,
): Promise<void> {
  const look = async (): Promise<Look<undefined>> => {
    try {
      await attempt();
      return { done: true, value: undefined };
    } catch (error) {
      return { done: false, missing: errorMessage(error).split('\n').at(-1) ?? '' };
    }
  };
  await waitUntil(wait, look, note);
}

function failure(what: string): CommandError {
  return new CommandError(what, 'look at: npm run status');
}
