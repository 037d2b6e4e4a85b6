import { type Clock, systemClock } from '@gantry/base';

/** A clock that runs ahead of the machine's, and whose wall clock can be moved. */
export interface FastClock extends Clock {
  /** Added to the wall clock, in milliseconds. */
  aheadMs: number;
}

/** What passes between two rounds of the event loop that are at least a millisecond apart. */
const STEP_MS = 100;

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/**
 * On a quiet machine a second passes in ten milliseconds. It passes in rounds of the event loop: where these take longer, as on a busy
 * machine, so does the second. What a client in the same process answers in a few rounds is thus never late.
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
  // A timer that is set in a timer's callback may fire in the same round.
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
