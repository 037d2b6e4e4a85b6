import { isReason } from '@gantry/objects';
import {
  type Activities,
  backoffMs,
  type Clock,
  DeadlineError,
  errorMessage,
  pause,
  type Random,
  withDeadline,
} from '@gantry/base';
import { backoffAfter, type ObjectClient } from '@gantry/client';
import type { Cache } from './cache.ts';
import type { ControllerSpec, WatchSpec } from './controller.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { InformerEvent, Informers } from './informers.ts';
import type { Log } from './log.ts';
import type { ReconcileReport, StaleReport } from './reconcile-report.ts';
import { ExpectedWrites } from './expected-writes.ts';
import { formatReconcileKey, type ReconcileKey } from './reconcile-key.ts';
import { resourceId } from './revision.ts';
import type { LoopLog, RunningReconcile } from './loop-log.ts';
import type { QueueMeter } from './queue-meter.ts';
import type { ServedResources } from './served-resources.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerRunnerOptions {
  readonly client: ObjectClient;
  readonly informers: Informers;
  readonly served: ServedResources;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onReconcile?: (report: ReconcileReport) => void;
  readonly onStale?: (report: StaleReport) => void;
  /** Records reconciles for reports of stalls. */
  readonly activities?: Activities;
  /** Measures the queue. */
  readonly meter?: QueueMeter;
  /** Remembers the last decisions. */
  readonly loop: LoopLog;
}

const DEFAULT_WORKERS = 5;
/** Milliseconds to wait until the cache shows our own writes; then the key is reconciled anyway. Kubernetes' ExpectationsTimeout. */
const EXPECTED_WRITES_MS = 300_000;
/** Delays between attempts to read the outcome of a write. */
const SETTLE_BACKOFF = { initialMs: 100, maxMs: 10_000 };
/** A reconcile that took so long has waited for a server. One that an extension server refuses at once has not. */
const WAITED_SECONDS = 1;

/** Runs one controller. When it starts to act, it queues all cached objects; after that, it queues changes. */
export class ControllerRunner {
  readonly spec: ControllerSpec;
  readonly #options: ControllerRunnerOptions;
  readonly #queue: WorkQueue;
  /** By the id of their resource. */
  readonly #watches: ReadonlyMap<string, readonly WatchSpec[]>;

  constructor(spec: ControllerSpec, options: ControllerRunnerOptions) {
    this.spec = spec;
    this.#options = options;
    const { clock, random, meter, informers } = options;
    const { workers = DEFAULT_WORKERS, share } = spec;
    this.#queue = new WorkQueue({
      clock,
      random,
      meter,
      // The last worker is for the others: slow reconciles of one share must not hold all. One of two would be too much to give away.
      mostOfShare: workers > 2 ? workers - 1 : workers,
      ...(share === undefined ? {} : { share: (key) => share(key, informers.cache) }),
    });
    this.#watches = Map.groupBy(spec.watches, ({ resource }) => resourceId(resource));
  }

  /**
   * Reconciles until `stop` is aborted. Then it starts no new reconcile and resolves when the running ones have ended. Reconciles receive
   * the signal `act`: when it is aborted, they stop their work.
   */
  async run(stop: AbortSignal, act: AbortSignal): Promise<void> {
    this.#queue.clear();
    this.spec.begin?.();
    const unsubscribe = this.#subscribe();
    try {
      const workers = this.spec.workers ?? DEFAULT_WORKERS;
      await Promise.all(Array.from({ length: workers }, () => this.#work(stop, act)));
    } finally {
      unsubscribe();
      this.#queue.clear();
      this.spec.end?.();
    }
  }

  /** Queues the keys of all cached objects, and of each change from now on. */
  #subscribe(): () => void {
    const { informers } = this.#options;
    const { cache } = informers;
    const { watches, served } = this.spec;
    const end = informers.subscribe((event) => this.#take(event, cache), new Set(this.#watches.keys()));
    for (const watch of watches) {
      for (const object of cache.list(watch.resource)) this.#addAll(watch.keys(object, undefined, cache));
    }
    if (served === undefined) return end;
    for (const resource of informers.followed().filter(served.wants)) {
      for (const object of cache.list(resource)) this.#addAll(served.keys(resource, object, undefined, cache));
    }
    return end;
  }

  #take(event: InformerEvent, cache: Cache): void {
    const { served } = this.spec;
    if (event.kind === 'changed') {
      for (const watch of this.#watches.get(resourceId(event.resource)) ?? []) {
        for (const { object, old } of event.changes) {
          const keys = watch.keys(object, old, cache);
          if (keys.length > 0) this.#addAll(keys, watch.delayMs?.(object, old, this.#options.clock.now(), cache) ?? 0);
        }
      }
    } else if (served?.wants(event.resource) === true) {
      if (event.kind === 'unlisted') served.onUnlisted?.(event.resource);
      else if (event.kind !== 'servedChanged') this.#addAll(served.onSync(event.resource, cache));
      else for (const { object, old } of event.changes) this.#addAll(served.keys(event.resource, object, old, cache));
    }
  }

  #addAll(keys: readonly ReconcileKey[], delayMs = 0): void {
    for (const key of keys) this.#queue.addAfter(key, delayMs);
  }

  async #work(stop: AbortSignal, act: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      let key: ReconcileKey;
      try {
        key = await this.#queue.take(stop);
      } catch {
        // Rejected only because the signal was aborted.
        return;
      }
      const running = this.#options.loop.begin(key, this.#options.events);
      const writes = new ExpectedWrites(this.#options.client, this.#options.random, running.onWrite);
      const { activities } = this.#options;
      const activity = activities?.begin('reconcile', () => `${this.spec.name} ${formatReconcileKey(key)}`);
      await this.#reconcile(key, writes, running, act);
      this.#queue.release(key);
      if (activity !== undefined) activities?.end(activity);
      if (writes.areSeenBy(this.#options.informers.cache)) this.#queue.done(key);
      else void this.#doneWhenSeen(key, writes, stop);
    }
  }

  async #doneWhenSeen(key: ReconcileKey, writes: ExpectedWrites, stop: AbortSignal): Promise<void> {
    while (!(await this.#areSeen(key, writes, stop)) && this.spec.awaitOwnWrites === 'always' && !stop.aborted);
    this.#queue.done(key);
  }

  /** Waits up to 5 minutes until the outcome of the writes is known and the cache shows them. Returns whether that is so. */
  async #areSeen(key: ReconcileKey, writes: ExpectedWrites, stop: AbortSignal): Promise<boolean> {
    const { informers, clock, log, onStale } = this.#options;
    let isReported = false;
    const isShown = (): boolean => {
      const resource = writes.unseenBy(informers.cache);
      if (resource !== undefined && !isReported && this.#queue.isDirty(key)) {
        isReported = true;
        onStale?.({ controller: this.spec.name, resource });
      }
      return resource === undefined;
    };
    try {
      using deadline = withDeadline(clock, stop, EXPECTED_WRITES_MS);
      await this.#settle(key, writes, deadline);
      await informers.when(isShown, deadline);
      return true;
    } catch (error) {
      if (error instanceof DeadlineError) {
        log.warn({ controller: this.spec.name, key: formatReconcileKey(key) }, 'the cache does not show own writes');
      }
      return false;
    }
  }

  /** Reads the outcome of writes whose response was lost, until it is known. */
  async #settle(key: ReconcileKey, writes: ExpectedWrites, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        await writes.settle(signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const fields = { controller: this.spec.name, key: formatReconcileKey(key), reason: errorMessage(error) };
        log.debug(fields, 'what became of a write cannot be read');
        await pause(clock, backoffMs(backoffAfter(error, SETTLE_BACKOFF), failures, random), signal);
      }
    }
  }

  async #reconcile(
    key: ReconcileKey,
    writes: ExpectedWrites,
    running: RunningReconcile,
    act: AbortSignal,
  ): Promise<void> {
    const { informers, served, clock, random, onReconcile } = this.#options;
    const { events } = running;
    const begin = clock.monotonicMs();
    const tookSeconds = () => (clock.monotonicMs() - begin) / 1000;
    const report = (result: ReconcileReport['result'], error?: unknown) => {
      const seconds = tookSeconds();
      running.ended(result, seconds, error);
      onReconcile?.({ controller: this.spec.name, result, seconds });
    };
    const enqueue = (other: ReconcileKey) => this.#queue.add(other);
    const context = {
      cache: informers.cache,
      served,
      get client() {
        return writes.client;
      },
      events,
      clock,
      random,
      enqueue,
    };
    try {
      const result = await this.spec.reconcile(key, context, act);
      this.#queue.forget(key);
      if (result.requeueAfterMs !== undefined) this.#queue.addAfter(key, result.requeueAfterMs);
      report(result.requeueAfterMs === undefined ? 'done' : 'requeued');
    } catch (error) {
      if (act.aborted) return;
      this.#failed(key, error, tookSeconds() >= WAITED_SECONDS);
      report(isReason(error, 'Conflict') ? 'conflict' : 'failed', error);
    }
  }

  #failed(key: ReconcileKey, error: unknown, hasWaited: boolean): void {
    const delayMs = Math.round(this.#queue.addRateLimited(key, hasWaited ? error : undefined));
    const fields = { controller: this.spec.name, key: formatReconcileKey(key), delayMs };
    // Another writer was faster: normal with optimistic concurrency, not an error.
    if (isReason(error, 'Conflict')) {
      this.#options.log.debug({ ...fields, reason: errorMessage(error) }, 'reconcile met a conflict');
    } else this.#options.log.warn({ ...fields, err: error }, 'reconcile failed');
  }
}
