import { type Clock, errorMessage, pause } from '@gantry/base';

const EVERY_MS = 1_000;
const LOOK_MS = 15_000;
/** A busy machine takes minutes for what otherwise takes seconds. */
const LIMIT_MS = 600_000;

/** Looks until nothing is wrong. Resolves with what was wrong last, after ten minutes. An error of a look is something wrong. */
export async function untilRight(
  clock: Clock,
  look: (signal: AbortSignal) => Promise<readonly string[]>,
  limitMs = LIMIT_MS,
): Promise<readonly string[]> {
  const never = new AbortController().signal;
  for (const since = clock.monotonicMs(); ; ) {
    let wrong: readonly string[];
    try {
      wrong = await look(AbortSignal.timeout(LOOK_MS));
    } catch (error) {
      wrong = [errorMessage(error)];
    }
    if (wrong.length === 0 || clock.monotonicMs() - since > limitMs) return wrong;
    await pause(clock, EVERY_MS, never);
  }
}
