/** Milliseconds since the Unix epoch, from a wall clock. For what clients see, never for deciding leadership. */
export type Instant = number;

/** Cancels a timer; calling it twice is harmless. */
export type CancelTimer = () => void;

/** Where time comes from. Everything that waits or stamps takes one, so that tests never sleep. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): Instant;
  /** Monotonic clock, milliseconds from an arbitrary origin. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs`. */
  setTimer(delayMs: number, fire: () => void): CancelTimer;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (delayMs, fire) => {
    const timer = setTimeout(fire, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason when it is aborted first. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.setTimer(delayMs, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Resolves after `delayMs`, or as soon as the signal is aborted: for loops that look at the signal themselves. */
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

/** The second that was written last, and its text: most are written many times. */
const written = { second: Number.NaN, text: '' };

/** RFC 3339 with seconds, as Kubernetes' `metav1.Time` is written. */
export function formatTime(at: Instant): string {
  const second = Math.floor(at / 1000);
  if (second !== written.second) {
    written.text = new Date(second * 1000).toISOString().replace('.000Z', 'Z');
    written.second = second;
  }
  return written.text;
}

/** RFC 3339 with microseconds, as Kubernetes' `metav1.MicroTime` is written. */
export function formatMicroTime(at: Instant): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}
