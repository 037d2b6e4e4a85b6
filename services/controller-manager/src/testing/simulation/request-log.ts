/** The requests of a manager and its controllers, split at the moment when the cluster came to rest. */
export interface RequestShares {
  /** The verb and resource of each request since then, including the controllers' requests. */
  readonly requestsAtRest: readonly string[];
  /** The number of writes that each controller sent before, by the controller's name, and each write since then. */
  readonly writes: { readonly before: ReadonlyMap<string, number>; readonly atRest: readonly string[] };
}

/** Records the requests of all managers of a simulation, with their times. */
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

  /** Splits the recorded requests at the time when the cluster came to rest. */
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
