import { type Clock, systemClock } from '@gantry/base';

/** A clock of which a second passes in ten milliseconds, and whose wall clock can be moved. */
export interface FastClock extends Clock {
  /** Added to the wall clock, in milliseconds. */
  aheadMs: number;
}

const FACTOR = 100;

export function createFastClock(): FastClock {
  const clock: FastClock = {
    aheadMs: 0,
    now: () => systemClock.now() + clock.aheadMs,
    monotonicMs: () => systemClock.monotonicMs() * FACTOR,
    setTimer: (delayMs, fire) => systemClock.setTimer(delayMs / FACTOR, fire),
  };
  return clock;
}
