/**
 * When each node's heartbeat last changed, by our own monotonic clock: agents' clocks are not trusted. `reset` forgets all:
 * a new leader gives every node a full period.
 */
export class Heartbeats {
  readonly #graceMs: number;
  readonly #heard = new Map<string, { readonly mark: string; readonly atMs: number }>();

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  reset(): void {
    this.#heard.clear();
  }

  forget(node: string): void {
    this.#heard.delete(node);
  }

  /** Records the node's heartbeat; returns how long it may stay unchanged: 0 or less means silent. */
  note(node: string, mark: string, nowMs: number): number {
    const known = this.#heard.get(node);
    if (known === undefined || known.mark !== mark) {
      this.#heard.set(node, { mark, atMs: nowMs });
      return this.#graceMs;
    }
    return known.atMs + this.#graceMs - nowMs;
  }

  /** No heartbeat could arrive until now: every period begins anew. */
  extendAll(nowMs: number): void {
    for (const [node, { mark }] of this.#heard) this.#heard.set(node, { mark, atMs: nowMs });
  }
}
