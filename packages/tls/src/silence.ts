import type { Clock } from '@gantry/base';

/** A connection, or what of it is needed. */
export interface Heard {
  /** All bytes that have been received. */
  readonly bytesRead: number;
  destroy(): unknown;
}

/** Looks in a row that find no new byte before a peer counts as silent. Together with the first one, which finds some, they take the limit. */
const LOOKS = 8;

/**
 * Closes connections whose peer sends nothing, though it should: somebody sends it pings. Looks are counted, not time. Between two looks the
 * event loop reads what has arrived, so time in which this process does not run is nobody's silence: a timer alone would fire before the
 * bytes that arrived meanwhile are read.
 */
export class Silence {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #connections = new Map<Heard, { bytes: number; looks: number }>();
  #heard = 0;
  #seen = 0;
  #cancel: (() => void) | undefined;

  /** `limitMs`: after the last byte. */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#everyMs = limitMs / (LOOKS + 1);
  }

  add(connection: Heard): void {
    this.#connections.set(connection, { bytes: connection.bytesRead, looks: 0 });
  }

  remove(connection: Heard): void {
    this.#connections.delete(connection);
  }

  /** The peer of all connections has shown elsewhere that it lives. */
  heard(): void {
    this.#heard += 1;
  }

  /** Looks until `stop`. Starts with as much patience as after a byte. */
  start(): void {
    if (this.#cancel !== undefined) return;
    for (const known of this.#connections.values()) known.looks = 0;
    this.#lookLater();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #lookLater(): void {
    this.#cancel = this.#clock.setTimer(this.#everyMs, () => {
      this.#look();
      if (this.#cancel !== undefined) this.#lookLater();
    });
  }

  #look(): void {
    const wasHeard = this.#heard !== this.#seen;
    this.#seen = this.#heard;
    for (const [connection, known] of this.#connections) {
      const bytes = connection.bytesRead;
      known.looks = wasHeard || bytes !== known.bytes ? 0 : known.looks + 1;
      known.bytes = bytes;
      if (known.looks < LOOKS) continue;
      this.#connections.delete(connection);
      connection.destroy();
    }
  }
}
