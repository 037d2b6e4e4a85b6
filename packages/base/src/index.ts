/**
 * What every other package may lean on: time, randomness and identity as arguments, aborting, backoff, assertions.
 * Depends on nothing of ours.
 */
export { DeadlineError, errorMessage, raceAbort, withDeadline } from './abort.ts';
export { append } from './append.ts';
export { assert, AssertionError, must, unreachable } from './assert.ts';
export { backoffMs, type BackoffOptions } from './backoff.ts';
export {
  type CancelTimer,
  type Clock,
  formatMicroTime,
  formatTime,
  type Instant,
  pause,
  sleep,
  systemClock,
} from './clock.ts';
export { type NewUid, type Random, randomSuffix, safeEncode, seededRandom, systemRandom, systemUid } from './random.ts';
