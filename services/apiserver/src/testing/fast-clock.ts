import { type Clock, systemClock } from '@gantry/base';

/** A clock that runs faster than the machine's clock. Its wall clock can be moved. */
export interface FastClock extends Clock {
  /** Added to the wall clock, in milliseconds. */
  aheadMs: number;
}

/** The time that passes per round of the event loop. Rounds are at least one millisecond apart. */
const STEP_MS = 100;

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/**
 * Creates the clock. On a quiet machine, one second of this clock takes ten milliseconds. Time passes per round of the event loop, so it
 * is slower on a busy machine. A client in the same process that needs few rounds is thus never late.
 */
export function createFastClock(): FastClock {
  const timers = new Set<Timer>();
  let passedMs = 0;
  let isTicking = false;
  const tick = (): void => {
    passedMs += STEP_MS;
    const due = [...timers].filter(({ dueMs }) => dueMs <= passedMs).toSorted((a, b) => a.dueMs - b.dueMs);
    for (const timer of due) if (timers.delete(timer)) timer.fire();
    isTicking = timers.size > 0;
    if (isTicking) nextTick();
  };
  // setImmediate first, since a timer that is set in the callback of a timer may fire in the same round.
  const nextTick = (): void => void setImmediate(() => setTimeout(tick, 1));
  const clock: FastClock = {
    aheadMs: 0,
    now: () => systemClock.now() + clock.aheadMs,
    monotonicMs: () => passedMs,
    setTimer: (delayMs, fire) => {
      const timer: Timer = { dueMs: passedMs + Math.max(0, delayMs), fire };
      timers.add(timer);
      if (!isTicking) {
        isTicking = true;
        nextTick();
      }
      return () => void timers.delete(timer);
    },
  };
  return clock;
}
