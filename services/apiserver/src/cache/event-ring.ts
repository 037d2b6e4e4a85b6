import type { Instant } from '@gantry/base';
import type { EventItem } from './object-response.ts';
import type { ResourceVersion } from '../storage/object-store.ts';
import type { Entry } from './entry.ts';
import { listVersion, revisionOf } from './object-keys.ts';

/** One change of an object, with the old and the new state. Selectors are evaluated on both. */
export interface CacheEvent {
  readonly resourceVersion: ResourceVersion;
  readonly at: Instant;
  /** Undefined when the object was created. */
  readonly old: Entry | undefined;
  /** Undefined when it was deleted. */
  readonly current: Entry | undefined;
  /** The stored size of both objects, which the event keeps in memory. */
  readonly bytes: number;
  /** The old object with the version of this event, for watches whose selector no longer matches. */
  readonly gone: () => Entry | undefined;
  /** The watch items, created once and shared by all watches. */
  readonly items: { added?: EventItem; modified?: EventItem; deleted?: EventItem };
}

export interface RingLimits {
  /** This many events are kept regardless of their age. */
  readonly minEvents: number;
  /** Maximum number of kept events. */
  readonly maxEvents: number;
  /** Maximum stored bytes of the objects in kept events. The newest revision is always kept. */
  readonly maxBytes: number;
  /** How long events are kept, within the other limits. */
  readonly keepMs: number;
}

/** Recent events of one resource. Events of one revision are evicted together, so that a resumed watch gets all or none of them. */
export class EventRing {
  readonly #limits: RingLimits;
  #events: CacheEvent[] = [];
  #head = 0;
  #bytes = 0;
  #floor: ResourceVersion;

  constructor(limits: RingLimits, floor: ResourceVersion) {
    this.#limits = limits;
    this.#floor = floor;
  }

  /** All events after this version are kept. */
  get floor(): ResourceVersion {
    return this.#floor;
  }

  /** Number of kept events. */
  get size(): number {
    return this.#events.length - this.#head;
  }

  /** Stored bytes of the objects in the kept events. */
  get bytes(): number {
    return this.#bytes;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#bytes += event.bytes;
    this.#evict(event.at);
  }

  /** Events after `version`, oldest first. `version` must not be below the floor. */
  after(version: ResourceVersion): readonly CacheEvent[] {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.resourceVersion ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }

  #evict(now: Instant): void {
    const { minEvents, maxEvents, maxBytes, keepMs } = this.#limits;
    for (;;) {
      const oldest = this.#events[this.#head];
      const { size } = this;
      if (oldest === undefined) break;
      if (this.#bytes <= maxBytes && (size <= minEvents || (size <= maxEvents && now - oldest.at <= keepMs))) break;
      const revision = revisionOf(oldest.resourceVersion);
      const newest = this.#events.at(-1);
      if (newest === undefined || revisionOf(newest.resourceVersion) === revision) break;
      while (this.#head < this.#events.length && this.#revisionAt(this.#head) === revision) {
        const gone = this.#events[this.#head++];
        if (gone !== undefined) this.#bytes -= gone.bytes;
      }
      this.#floor = listVersion(revision);
    }
    if (this.#head > 1024 && this.#head * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }

  #revisionAt(index: number): number {
    return revisionOf(this.#events[index]?.resourceVersion ?? 0);
  }
}
