import { onAbort } from '@gantry/base';
import type { WatchItem } from './object-response.ts';
import type { ResourceVersion } from '../storage/object-store.ts';
import type { CacheEvent } from './event-ring.ts';
import type { Filter, View } from './view.ts';

/** Why a watch ended by itself. */
export type WatchEnd = 'open' | 'too-slow' | 'cache-reset' | 'stopped';

/**
 * One open watch: a bounded queue between the cache and a client. A client that does not keep up is cut off and resumes from
 * the last version that it has seen; no event is dropped in between.
 */
export class Watcher implements AsyncIterable<readonly WatchItem[]> {
  readonly filter: Filter;
  readonly bookmarks: boolean;
  readonly #view: View;
  readonly #maxQueued: number;
  readonly #onClose: (watcher: Watcher) => void;
  /** Events up to this version are not for this watch. */
  readonly #after: ResourceVersion;
  /** The client knows everything up to this version: it began there, or was sent it. */
  #reached: ResourceVersion;
  #queue: WatchItem[] = [];
  /** The initial items, which do not count against the limit. */
  #exempt = 0;
  #end: WatchEnd = 'open';
  #wake: (() => void) | undefined;
  readonly #releases: (() => void)[] = [];

  constructor(options: {
    filter: Filter;
    view: View;
    bookmarks: boolean;
    after: ResourceVersion;
    maxQueued: number;
    onClose: (watcher: Watcher) => void;
  }) {
    this.filter = options.filter;
    this.#view = options.view;
    this.bookmarks = options.bookmarks;
    this.#after = options.after;
    this.#reached = options.after;
    this.#maxQueued = options.maxQueued;
    this.#onClose = options.onClose;
  }

  get end(): WatchEnd {
    return this.#end;
  }

  /** Queues the initial items, without a limit: the objects are shared. */
  begin(items: readonly WatchItem[]): void {
    for (const item of items) this.#queue.push(item);
    this.#exempt = this.#queue.length;
    if (items.length > 0) this.#notify();
  }

  /** Queues this event if it concerns the watch. */
  offer(event: CacheEvent): void {
    if (event.resourceVersion <= this.#after) return;
    this.#reached = Math.max(this.#reached, event.resourceVersion);
    const item = itemFor(this.#view.event(event), this.filter);
    if (item !== undefined) this.#push(item);
  }

  /**
   * Queues a bookmark at this version, which the cache has reached. A watch may have begun at a later one, which its client has
   * seen at another server: then the bookmark repeats that one, so that no client resumes from before its own past.
   */
  bookmark(resourceVersion: ResourceVersion): void {
    this.#reached = Math.max(this.#reached, resourceVersion);
    this.#push({ type: 'BOOKMARK', resourceVersion: this.#reached, initialEventsEnd: false });
  }

  /** Ends the watch when the signal is aborted. The listener goes when the watch ends, since the signal may outlive it by far. */
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

  /** Ends the watch; queued items are still delivered. */
  close(why: Exclude<WatchEnd, 'open'>): void {
    if (this.#end !== 'open') return;
    this.#end = why;
    for (const release of this.#releases.splice(0)) release();
    this.#onClose(this);
    this.#notify();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<readonly WatchItem[]> {
    try {
      for (;;) {
        if (this.#queue.length > 0) {
          const items = this.#queue;
          this.#queue = [];
          this.#exempt = 0;
          yield items;
        } else if (this.#end !== 'open') return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.close('stopped');
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** What an event is to a watch with this filter: objects may come into its sight and leave it. */
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
