import type { Clock } from '@gantry/base';

/** The part of a connection that `Silence` needs. */
export interface Heard {
  /** The number of bytes that were received. */
  readonly bytesRead: number;
  destroy(): unknown;
}

/** A peer is silent when this many looks in a row find no new byte. With the look before, which found some, they take the whole limit. */
const LOOKS = 8;

/**
 * Closes connections whose peer sends nothing, not even answers to pings, which others send. It counts looks instead of time: between two
 * looks, the event loop reads the bytes that have arrived. A timer for the whole limit would fire before they are read if this process had
 * not run for so long.
 */
export class Silence {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #connections = new Map<Heard, { bytes: number; looks: number }>();
  #heard = 0;
  #seen = 0;
  #cancel: (() => void) | undefined;

  /** `limitMs`: the time after the last byte. */
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

  /** To be called when the peer of all connections has shown elsewhere that it lives. */
  heard(): void {
    this.#heard += 1;
  }

  /** Looks until `stop`. Each connection has the whole limit again. */
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
