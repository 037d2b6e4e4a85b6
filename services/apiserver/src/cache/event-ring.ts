import type { Instant } from '@gantry/base';
import type { WatchItem } from './object-response.ts';
import type { ResourceVersion } from '../storage/object-store.ts';
import type { Entry } from './entry.ts';
import { listVersion, revisionOf } from './object-keys.ts';

type ObjectItem = Exclude<WatchItem, { readonly type: 'BOOKMARK' }>;

/** One change of a resource, with both sides, so that selectors can be judged on each. */
export interface CacheEvent {
  readonly resourceVersion: ResourceVersion;
  readonly at: Instant;
  /** Undefined when the object was created. */
  readonly old: Entry | undefined;
  /** Undefined when it was deleted. */
  readonly current: Entry | undefined;
  /** The stored size of both objects, which the event keeps in memory. */
  readonly bytes: number;
  /** The old object at this event's version: shown to watches that lose sight of it. */
  readonly gone: () => Entry | undefined;
  /** Made once and shared by all watches. */
  readonly items: { added?: ObjectItem; modified?: ObjectItem; deleted?: ObjectItem };
}

export interface RingLimits {
  /** Events kept however old they are. */
  readonly minEvents: number;
  /** Events kept at most. */
  readonly maxEvents: number;
  /** Stored bytes of the objects in kept events at most; the newest revision is kept in any case. */
  readonly maxBytes: number;
  /** How long events are kept while there is room. */
  readonly keepMs: number;
}

/** Recent events of one resource. Whole revisions are evicted, so that a resume finds all of a revision or none. */
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

  /** Every event after this version is here. */
  get floor(): ResourceVersion {
    return this.#floor;
  }

  /** Events that are kept. */
  get size(): number {
    return this.#events.length - this.#head;
  }

  /** Stored bytes of the objects in them. */
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
