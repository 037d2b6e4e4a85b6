/** Why a request to a Service had no response. */
type ServiceFailure = 'refused' | 'reset' | 'timed out' | 'other';

/** Counts what clients were told, and the longest time without an acknowledged request. */
export class Tally {
  acknowledged = 0;
  refused = 0;
  unknown = 0;
  longestGapMs = 0;
  #lastAckMs: number | undefined;
  #gapSinceMark = 0;
  /** Of requests to Services. */
  readonly services = {
    served: 0,
    failures: { refused: 0, reset: 0, 'timed out': 0, other: 0 } satisfies Record<ServiceFailure, number>,
    /** The longest time of one client without a response. */
    longestGapMs: 0,
  };

  #load: 'working' | 'over' = 'working';

  /** The workloads have stopped: gaps between what they still send mean nothing. */
  end(): void {
    this.#load = 'over';
  }

  ack(atMs: number): void {
    this.acknowledged++;
    if (this.#load === 'over') return;
    const gapMs = atMs - (this.#lastAckMs ?? atMs);
    this.longestGapMs = Math.max(this.longestGapMs, gapMs);
    this.#gapSinceMark = Math.max(this.#gapSinceMark, gapMs);
    this.#lastAckMs = atMs;
  }

  /** Longest gaps are measured anew, beside the one of the whole load. */
  mark(): void {
    this.#gapSinceMark = 0;
  }

  /** The longest gap that ended after the last mark, or goes on. */
  gapSinceMark(nowMs: number): number {
    return Math.max(this.#gapSinceMark, nowMs - (this.#lastAckMs ?? nowMs));
  }

  /** A Service has responded to a client, so long after its last response to it. */
  serve(sinceLastMs: number): void {
    this.services.served++;
    this.services.longestGapMs = Math.max(this.services.longestGapMs, sinceLastMs);
  }

  fail(failure: ServiceFailure): void {
    this.services.failures[failure]++;
  }
}

/** What an error of Node.js' HTTP client means. */
export function failureOf(error: unknown): ServiceFailure {
  const { code, name } = error as { readonly code?: string; readonly name?: string };
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH') return 'refused';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'reset';
  return code === 'ETIMEDOUT' || code === 'ABORT_ERR' || name === 'AbortError' || name === 'TimeoutError'
    ? 'timed out'
    : 'other';
}
