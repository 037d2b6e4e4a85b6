/**
 * What every other package may use, and what makes code testable without sleeps: time, randomness and identity are arguments.
 *
 * - `clock`: `Clock`, waiting (`sleep`, `pause`), and times as Kubernetes writes them
 * - `signal`: `Signal`, by which one loop is notified of work
 * - `control-loop`: `ControlLoop`, which runs rounds when notified, at intervals and after failures
 * - `until-done`: work that is tried until it succeeds
 * - `leadership`: `lead`, which campaigns in an election and acts while elected
 * - `plan`: `Plan`, the result of a pure decision
 * - `abort`: deadlines and races over `AbortSignal`
 * - `go-duration`: durations as Go writes them
 * - `intl-time-zone`: the names of time zones that Go knows
 * - `backoff`, `random`: delays after failures; random numbers, names and uids
 * - `freeze-container`: how a container is paused on engines that fail to do so now and then
 * - `command-options`: the numbers that a user gives to a command, and what is said of wrong ones
 * - `assert`, `append`: assertions about our own code; lists of any length
 * - `turns`: long computations in pieces, with other work of the event loop between them
 * - `activities`: what a process does at present, for reports of stalls
 *
 * Every package and service uses it. It imports no other package and performs no I/O. `./testing` has the manual clock.
 */
export {
  allEnded,
  anySignal,
  DeadlineError,
  errorMessage,
  onAbort,
  raceAbort,
  settlesWithin,
  untilAborted,
  withDeadline,
} from './abort.ts';
export { Activities } from './activities.ts';
export { append } from './append.ts';
export { AssertionError, must } from './assert.ts';
export { backoffMs, type BackoffOptions } from './backoff.ts';
export {
  type CancelTimer,
  type Clock,
  formatDay,
  formatMicroTime,
  formatTime,
  type Instant,
  parseDay,
  pause,
  setPatientTimer,
  sleep,
  systemClock,
} from './clock.ts';
export { isUsageError, OptionError, wholeNumber } from './command-options.ts';
export { ControlLoop } from './control-loop.ts';
export { freezeContainer } from './freeze-container.ts';
export { parseGoDuration, parseGoDurationMs } from './go-duration.ts';
export { intlTimeZone } from './intl-time-zone.ts';
export { type Ability, type Election, type ElectionEvent, lead, type Term } from './leadership.ts';
export type { Plan } from './plan.ts';
export { type NewUid, type Random, randomSuffix, safeEncode, seededRandom, systemRandom, systemUid } from './random.ts';
export { Signal } from './signal.ts';
export { atOnce, type InTurns, type Pieces, type Turn } from './turns.ts';
export { untilDone } from './until-done.ts';
