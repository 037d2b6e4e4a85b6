import { isReason, type KubeObject, type Resource, StatusError } from '@gantry/objects';
import {
  anySignal,
  backoffMs,
  type BackoffOptions,
  type CancelTimer,
  type Clock,
  DeadlineError,
  pause,
  type Random,
} from '@gantry/base';
import { backoffAfter, isOutage, type ObjectReader, type WatchEvent } from '@gantry/client';
import { parseVersion } from './revision.ts';

/** One change as the server reported it. */
export type ReflectedChange<T extends KubeObject> =
  | { readonly kind: 'put'; readonly object: T }
  | { readonly kind: 'gone'; readonly object: T };

/** Events of a reflector. A `resync` replaces all earlier state: objects that it does not contain no longer exist. */
export type ReflectorEvent<T extends KubeObject = KubeObject> =
  | { readonly kind: 'resync'; readonly objects: readonly T[]; readonly resourceVersion: string }
  /** Changes in order. After them, everything up to `resourceVersion` has been reported. */
  | { readonly kind: 'changes'; readonly changes: readonly ReflectedChange<T>[]; readonly resourceVersion: string }
  /** For logs and health; the reflector continues by itself. */
  | { readonly kind: 'failed'; readonly phase: 'listing' | 'watching'; readonly error: unknown };

export interface ReflectorOptions<T extends KubeObject = KubeObject> {
  readonly client: Pick<ObjectReader, 'list' | 'watch'>;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: boolean;
  /** A watch without events for this many milliseconds is opened again; 120 000 when absent. */
  readonly idleMs?: number;
}

/** The state of a reflector. */
type State =
  /** Lists all objects; earlier state no longer counts. */
  | { readonly name: 'listing' }
  /** Opens a watch at this version and reads its events. */
  | { readonly name: 'watching'; readonly resourceVersion: string }
  /** Waits, then goes to `next`. */
  | { readonly name: 'waiting'; readonly delayMs: number; readonly next: State };

const BACKOFF: BackoffOptions = { initialMs: 50, maxMs: 5000 };
const DEFAULT_IDLE_MS = 120_000;

/**
 * Follows one resource. It lists, then watches from the version of the list. A broken watch is opened again at the last version. It lists
 * again when the server no longer has that version. Errors are yielded as events; the reflector ends only when its signal is aborted.
 */
export class Reflector<T extends KubeObject = KubeObject> {
  readonly #options: ReflectorOptions<T>;
  /** Consecutive failures. An outage and other failures are counted apart: the first 410 after a long outage is not the last of many. */
  #failures = { outage: 0, other: 0 };
  #relist = new AbortController();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  /** Closes the open watch and lists now. */
  relist(): void {
    this.#relist.abort(new RelistRequest('asked to list again'));
  }

  async *events(signal: AbortSignal): AsyncIterable<ReflectorEvent<T>> {
    let state: State = { name: 'listing' };
    while (!signal.aborted) {
      switch (state.name) {
        case 'listing':
          try {
            const list = await this.#list(signal);
            yield { kind: 'resync', ...list };
            // Failures count until a watch from this version has events.
            state = { name: 'watching', resourceVersion: list.resourceVersion };
          } catch (error) {
            if (signal.aborted) return;
            yield { kind: 'failed', phase: 'listing', error };
            state = { name: 'waiting', delayMs: this.#delayAfter(error), next: { name: 'listing' } };
          }
          break;
        case 'watching': {
          let reached: string = state.resourceVersion;
          try {
            for await (const batch of this.#watch(reached, signal)) {
              const changes = changesOf(batch);
              reached = lastVersion(batch, reached);
              // An empty batch says that the watch is open. Resetting there would repeat a watch that always fails without a delay.
              if (batch.length > 0) this.#failures = { outage: 0, other: 0 };
              yield { kind: 'changes', changes, resourceVersion: reached };
            }
          } catch (error) {
            if (signal.aborted) return;
            const resume: State = { name: 'watching', resourceVersion: reached };
            if (error instanceof RelistRequest) state = { name: 'listing' };
            else {
              if (!isGone(error)) yield { kind: 'failed', phase: 'watching', error };
              const next: State = isGone(error) ? { name: 'listing' } : resume;
              // The first retry has no delay: another server may be available, and a list is newer than a forgotten version.
              const delayMs = this.#delayAfter(error, 1);
              state = delayMs === 0 ? next : { name: 'waiting', delayMs, next };
            }
          }
          break;
        }
        case 'waiting': {
          const { delayMs, next }: Extract<State, { name: 'waiting' }> = state;
          await pause(this.#options.clock, delayMs, signal);
          state = next;
          break;
        }
      }
    }
  }

  /** Counts a failure, and returns the delay until the next attempt. The first `free` failures have none. */
  #delayAfter(error: unknown, free = 0): number {
    const kind = isOutage(error) ? 'outage' : 'other';
    this.#failures[kind] += 1;
    const counted = this.#failures[kind] - free;
    return counted <= 0 ? 0 : backoffMs(backoffAfter(error, BACKOFF), counted, this.#options.random);
  }

  async #list(signal: AbortSignal): Promise<{ objects: readonly T[]; resourceVersion: string }> {
    this.#relist = new AbortController();
    const { client, resource } = this.#options;
    const { items, resourceVersion } = await client.list(resource, this.#selection(), signal);
    return { objects: items, resourceVersion };
  }

  async *#watch(resourceVersion: string, signal: AbortSignal): AsyncIterable<readonly WatchEvent<T>[]> {
    const { client, resource, clock, idleMs = DEFAULT_IDLE_MS } = this.#options;
    using ended = anySignal(signal, this.#relist.signal);
    using patience = new Patience(ended, clock, idleMs);
    const options = { ...this.#selection(), resourceVersion };
    const batches = client.watch(resource, options, patience.signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await patience.next(batches);
        if (next.done === true) throw StatusError.unavailable('the watch ended');
        yield next.value;
      }
    } catch (error) {
      if (ended.aborted) throw ended.reason;
      throw error instanceof DeadlineError ? StatusError.timeout(`nothing heard for ${idleMs} ms`) : error;
    }
  }

  #selection(): { namespace?: string; labelSelector?: string; fieldSelector?: string; metadataOnly?: boolean } {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#options;
    return { namespace, labelSelector, fieldSelector, metadataOnly };
  }
}

/**
 * Waits for the batches of one watch, until its parent signal is aborted or no batch has come for `idleMs`. One timer and one listener
 * serve all batches, because there are many. Disposing ends the watch.
 */
class Patience implements Disposable {
  readonly #abort = new AbortController();
  readonly #parent: AbortSignal;
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #follow = (): void => this.#end(this.#parent.reason);
  #heardMs: number;
  #cancel: CancelTimer;
  #reject: ((reason: unknown) => void) | undefined;

  constructor(parent: AbortSignal, clock: Clock, idleMs: number) {
    this.#parent = parent;
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#heardMs = clock.monotonicMs();
    this.#cancel = clock.setTimer(idleMs, () => this.#check());
    if (parent.aborted) this.#follow();
    else parent.addEventListener('abort', this.#follow, { once: true });
  }

  /** Aborted when the wait has ended. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  next<B>(batches: AsyncIterator<B>): Promise<IteratorResult<B>> {
    if (this.signal.aborted) return Promise.reject(this.signal.reason as Error);
    // The time that the caller spends on a batch does not count.
    this.#heardMs = this.#clock.monotonicMs();
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      batches.next().then(resolve, reject);
    });
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#parent.removeEventListener('abort', this.#follow);
    this.#end(new RelistRequest('the watch is not needed any more'));
  }

  #check(): void {
    const leftMs = this.#heardMs + this.#idleMs - this.#clock.monotonicMs();
    if (leftMs <= 0) this.#end(new DeadlineError(`deadline of ${this.#idleMs} ms exceeded`));
    else this.#cancel = this.#clock.setTimer(leftMs, () => this.#check());
  }

  #end(reason: unknown): void {
    this.#abort.abort(reason);
    this.#reject?.(reason);
  }
}

/** Why a watch was dropped on purpose. */
class RelistRequest extends Error {
  override readonly name = 'RelistRequest';
}

function isGone(error: unknown): boolean {
  return isReason(error, 'Expired') || isReason(error, 'Gone');
}

function changesOf<T extends KubeObject>(batch: readonly WatchEvent<T>[]): readonly ReflectedChange<T>[] {
  const changes: ReflectedChange<T>[] = [];
  for (const event of batch) {
    if (event.type === 'BOOKMARK') continue;
    changes.push({ kind: event.type === 'DELETED' ? 'gone' : 'put', object: event.object });
  }
  return changes;
}

/**
 * The version at which a watch continues after a batch. It never decreases: a server that lags may send a bookmark older than the last
 * event, or older than the start of the watch. Non-numeric versions, from extension servers, are not compared.
 */
function lastVersion<T extends KubeObject>(batch: readonly WatchEvent<T>[], before: string): string {
  const last = batch.at(-1);
  if (last === undefined) return before;
  const version = (last.type === 'BOOKMARK' ? last.resourceVersion : last.object.metadata.resourceVersion) ?? before;
  return parseVersion(version) > 0 && parseVersion(version) < parseVersion(before) ? before : version;
}
