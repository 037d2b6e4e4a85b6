/** Counts what clients were told, and the longest time without an acknowledged request. */
export class Tally {
  acknowledged = 0;
  refused = 0;
  unknown = 0;
  longestGapMs = 0;
  #lastAckMs: number | undefined;

  ack(atMs: number): void {
    this.acknowledged++;
    if (this.#lastAckMs !== undefined) this.longestGapMs = Math.max(this.longestGapMs, atMs - this.#lastAckMs);
    this.#lastAckMs = atMs;
  }
}
