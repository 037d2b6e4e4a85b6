import { onAbort } from '@gantry/base';
import type { WatchItem } from './object-response.ts';
import type { ResourceVersion } from '../storage/object-store.ts';
import type { CacheEvent } from './event-ring.ts';
import type { Filter, View } from './view.ts';

/** State of a watch: 'open', or the reason why it ended. */
export type WatchEnd = 'open' | 'too-slow' | 'cache-reset' | 'stopped';

type Result = IteratorResult<readonly WatchItem[], undefined>;

const ENDED: Result = { done: true, value: undefined };

/**
 * One watch: a bounded queue between the cache and a client. The watch of a client that is too slow is closed. The client then resumes
 * from the last version that it has read, so that no event is lost.
 */
export class Watcher implements AsyncIterable<readonly WatchItem[]> {
  readonly filter: Filter;
  readonly bookmarks: boolean;
  readonly #view: View;
  readonly #maxQueued: number;
  readonly #deliveries: Deliveries;
  readonly #onClose: (watcher: Watcher) => void;
  /** The watch skips events up to this version. */
  readonly #after: ResourceVersion;
  /** The version up to which all selected events are queued. Initially the start version. */
  #reached: ResourceVersion;
  #queue: WatchItem[] = [];
  /** Number of initial items in the queue, which do not count towards the limit. */
  #exempt = 0;
  #end: WatchEnd = 'open';
  /** Takes the next items of a reader that waits. */
  #reader: ((result: Result) => void) | undefined;
  readonly #releases: (() => void)[] = [];

  constructor(options: {
    filter: Filter;
    view: View;
    bookmarks: boolean;
    after: ResourceVersion;
    maxQueued: number;
    deliveries: Deliveries;
    onClose: (watcher: Watcher) => void;
  }) {
    this.filter = options.filter;
    this.#view = options.view;
    this.bookmarks = options.bookmarks;
    this.#after = options.after;
    this.#reached = options.after;
    this.#maxQueued = options.maxQueued;
    this.#deliveries = options.deliveries;
    this.#onClose = options.onClose;
  }

  get end(): WatchEnd {
    return this.#end;
  }

  /** Queues the initial items. They have no limit, because their objects are shared. */
  begin(items: readonly WatchItem[]): void {
    for (const item of items) this.#queue.push(item);
    this.#exempt = this.#queue.length;
    if (items.length > 0) this.#notify();
  }

  /** Queues the event if the watch selects its object. */
  offer(event: CacheEvent): void {
    if (event.resourceVersion <= this.#after) return;
    this.#reached = Math.max(this.#reached, event.resourceVersion);
    const item = itemFor(this.#view.event(event), this.filter);
    if (item !== undefined) this.#push(item);
  }

  /**
   * Queues a bookmark with this version, which the cache has reached. If the watch started at a later version, from another server, the
   * bookmark has that one. So no bookmark is older than the version that the client already knows.
   */
  bookmark(resourceVersion: ResourceVersion): void {
    this.#reached = Math.max(this.#reached, resourceVersion);
    this.#push({ type: 'BOOKMARK', resourceVersion: this.#reached, initialEventsEnd: false });
  }

  /** Ends the watch when the signal is aborted. The end of the watch removes the listener, since the signal may live much longer. */
  endWith(signal: AbortSignal): void {
    const ending = onAbort(signal, () => this.close('stopped'));
    this.#releases.push(() => ending[Symbol.dispose]());
  }

  #push(item: WatchItem): void {
    if (this.#end !== 'open') return;
    if (this.#queue.length - this.#exempt >= this.#maxQueued) {
      this.close('too-slow');
      return;
    }
    this.#queue.push(item);
    this.#notify();
  }

  /** Ends the watch. Queued items are still delivered. */
  close(why: Exclude<WatchEnd, 'open'>): void {
    if (this.#end !== 'open') return;
    this.#end = why;
    for (const release of this.#releases.splice(0)) release();
    this.#onClose(this);
    this.#notify();
  }

  /** For one reader. Returning ends the watch. */
  [Symbol.asyncIterator](): AsyncIterator<readonly WatchItem[], undefined> {
    return {
      next: () => {
        const ready = this.#take();
        if (ready !== undefined) return Promise.resolve(ready);
        return new Promise((resolve) => {
          this.#reader = resolve;
        });
      },
      return: () => {
        this.close('stopped');
        return Promise.resolve(ENDED);
      },
    };
  }

  /** Passes on to a waiting reader what there is for it. */
  deliver(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    const ready = this.#take();
    if (ready === undefined) return;
    this.#reader = undefined;
    reader(ready);
  }

  /** The queued items, or else the end of the watch; undefined while there is neither. */
  #take(): Result | undefined {
    if (this.#queue.length === 0) return this.#end === 'open' ? undefined : ENDED;
    const items = this.#queue;
    this.#queue = [];
    this.#exempt = 0;
    return { done: false, value: items };
  }

  #notify(): void {
    if (this.#reader !== undefined) this.#deliveries.add(this);
  }
}

/**
 * Delivers to all watches of a cache that got items in one turn, after it and together. A generator for each of them would cost each event
 * three promises and as many turns of the queue of microtasks.
 */
export class Deliveries {
  #due: Watcher[] = [];

  add(watcher: Watcher): void {
    // Events of one turn come for one watch after another, so a watch may be added again.
    if (this.#due.push(watcher) === 1) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const due = this.#due;
    this.#due = [];
    for (const watcher of due) watcher.deliver();
  }
}

/** The watch item of an event for a filter. An object that starts to match is ADDED; one that no longer matches is DELETED. */
export function itemFor(event: CacheEvent, filter: Filter): WatchItem | undefined {
  const before = event.old !== undefined && filter.matches(event.old.response.object);
  const after = event.current !== undefined && filter.matches(event.current.response.object);
  if (after && event.current !== undefined) {
    const response = event.current.response;
    if (before) return (event.items.modified ??= { type: 'MODIFIED', response });
    return (event.items.added ??= { type: 'ADDED', response });
  }
  const gone = before ? (event.items.deleted?.response ?? event.gone()?.response) : undefined;
  return gone === undefined ? undefined : (event.items.deleted ??= { type: 'DELETED', response: gone });
}
