import { type Clock, errorMessage, pause } from '@gantry/base';

const EVERY_MS = 1_000;
const LOOK_MS = 15_000;
const SAY_EVERY_MS = 10_000;
/** A busy machine takes minutes for what otherwise takes seconds. */
const LIMIT_MS = 600_000;

/** How long a caller waits for the cluster. */
export interface Patience {
  /** Ten minutes if not given. */
  readonly limitMs?: number;
  /** Ends the wait at once. */
  readonly interrupted?: AbortSignal;
  /** Called every ten seconds with what is still wrong. */
  readonly say?: (text: string) => void;
}

/**
 * Looks until nothing is wrong. Resolves with what was wrong last when the limit is over, and with nothing when it is interrupted, since then
 * nothing is known. An error of a look is something wrong.
 */
export async function untilRight(
  clock: Clock,
  look: (signal: AbortSignal) => Promise<readonly string[]>,
  { limitMs = LIMIT_MS, interrupted = new AbortController().signal, say }: Patience = {},
): Promise<readonly string[]> {
  const since = clock.monotonicMs();
  for (let saidAtMs = since; !interrupted.aborted; ) {
    let wrong: readonly string[];
    try {
      wrong = await look(AbortSignal.any([interrupted, AbortSignal.timeout(LOOK_MS)]));
    } catch (error) {
      wrong = [errorMessage(error)];
    }
    const nowMs = clock.monotonicMs();
    if (!interrupted.aborted && (wrong.length === 0 || nowMs - since > limitMs)) return wrong;
    if (nowMs - saidAtMs >= SAY_EVERY_MS) {
      say?.(`still to come: ${describe(wrong)}`);
      saidAtMs = nowMs;
    }
    await pause(clock, EVERY_MS, interrupted);
  }
  return [];
}

function describe([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first}; and ${others.length} more`;
}
