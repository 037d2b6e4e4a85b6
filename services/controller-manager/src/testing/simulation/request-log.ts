/** What a manager and its controllers have asked for, until the cluster came to rest and since then. */
export interface RequestShares {
  /** Verb and resource of each request of the manager, controllers included, since then. */
  readonly requestsAtRest: readonly string[];
  /** How many writes each controller sent before, by its name, and each write since then. */
  readonly writes: { readonly before: ReadonlyMap<string, number>; readonly atRest: readonly string[] };
}

/** Keeps the requests of all managers of a simulation with their times. */
export class RequestLog {
  readonly #now: () => number;
  readonly #requests: { readonly atMs: number; readonly request: string }[] = [];
  readonly #writes: { readonly atMs: number; readonly controller: string; readonly write: string }[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  noteRequest(verb: string, resource: string): void {
    this.#requests.push({ atMs: this.#now(), request: `${verb} ${resource}` });
  }

  noteWrite(controller: string, write: string): void {
    this.#writes.push({ atMs: this.#now(), controller, write });
  }

  /** Splits what was noted at the time from which the cluster counts as being at rest. */
  sharesAt(restBeginMs: number): RequestShares {
    const before = new Map<string, number>();
    const atRest: string[] = [];
    for (const { atMs, controller, write } of this.#writes) {
      if (atMs > restBeginMs) atRest.push(`${controller}: ${write}`);
      else before.set(controller, (before.get(controller) ?? 0) + 1);
    }
    const requests = this.#requests.filter(({ atMs }) => atMs > restBeginMs);
    return { requestsAtRest: requests.map(({ request }) => request), writes: { before, atRest } };
  }
}
