/** Milliseconds since the Unix epoch, from a wall clock. For times in objects and logs. Leadership must not depend on it. */
export type Instant = number;

/** Cancels a timer; calling it twice is harmless. */
export type CancelTimer = () => void;

/** The source of time. Code that waits or writes times takes one as an argument, so that tests never sleep. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): Instant;
  /** Monotonic clock, milliseconds from an arbitrary origin. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs`. Any length is possible; `Infinity` never fires. */
  setTimer(delayMs: number, fire: () => void): CancelTimer;
}

/** The longest delay of a platform timer in milliseconds (24.8 days). A timer with a longer delay fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (delayMs, fire) => {
    let timer: NodeJS.Timeout;
    const start = (leftMs: number): void => {
      timer =
        leftMs > LONGEST_MS
          ? setTimeout(() => start(leftMs - LONGEST_MS), LONGEST_MS)
          : setTimeout(fire, Math.max(0, leftMs));
    };
    start(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Pieces of the delay of a patient timer. */
const PIECES = 8;

/**
 * Calls `fire` once after `delayMs`. A time in which this process does not run counts as an eighth of that at most. For limits on the
 * silence of a peer: a plain timer would fire before the bytes that have arrived meanwhile are read.
 */
export function setPatientTimer(clock: Clock, delayMs: number, fire: () => void): CancelTimer {
  let pieces = 0;
  let cancel: CancelTimer = () => {};
  const next = () => {
    cancel = clock.setTimer(delayMs / PIECES, ++pieces === PIECES ? fire : next);
  };
  next();
  return () => cancel();
}

/** Resolves after `delayMs`; rejects with the signal's reason when it is aborted first. */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  await pause(clock, delayMs, signal);
  signal.throwIfAborted();
}

/** Resolves after `delayMs`, or as soon as the signal is aborted: for loops that check the signal themselves. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.setTimer(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Caches the last formatted second: the same second is usually formatted many times. */
const written = { second: Number.NaN, text: '' };

/** RFC 3339 with seconds: the format of Kubernetes' `metav1.Time`. */
export function formatTime(at: Instant): string {
  const second = Math.floor(at / 1000);
  if (second !== written.second) {
    written.text = new Date(second * 1000).toISOString().replace('.000Z', 'Z');
    written.second = second;
  }
  return written.text;
}

/** The day in UTC, `2006-01-02`. */
export function formatDay(at: Instant): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The start of a UTC day in the form `2006-01-02`; undefined for other texts. */
export function parseDay(text: string): Instant | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse reads 30 February as a day in March.
  return Number.isNaN(at) || formatDay(at) !== text ? undefined : at;
}

/** RFC 3339 with microseconds: the format of Kubernetes' `metav1.MicroTime`. */
export function formatMicroTime(at: Instant): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}
