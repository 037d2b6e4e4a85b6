import type { Clock, Instant, Random } from '@gantry/base';
import type { KubeObject, Resource } from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import type { Cache } from './cache.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { ReconcileKey } from './reconcile-key.ts';
import type { ServedResource } from './served-resource.ts';
import type { ServedResources } from './served-resources.ts';

/** What a reconcile returns: nothing more to do, or look again after a delay. */
export interface Result {
  readonly requeueAfterMs?: number;
}

/** What a reconcile may use. Reads go to the cache; writes carry the leader's fence. */
export interface ControllerContext {
  readonly cache: Cache;
  readonly served: ServedResources;
  readonly client: ObjectClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  /** Queues another key of this controller. */
  readonly enqueue: (key: ReconcileKey) => void;
}

/** Which keys to queue when an object changes. */
export interface WatchSpec<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  /** Keys to queue for a change from `old` (undefined when it is new) to `object` (undefined when it is gone). */
  keys(object: T | undefined, old: T | undefined, cache: Cache): readonly ReconcileKey[];
  /**
   * How long to wait before these keys are reconciled, in milliseconds, so that one reconcile sees several changes; 0 when
   * absent. A key that waits already keeps the earlier time. Keys of a beginning term do not wait.
   */
  delayMs?(object: T | undefined, old: T | undefined, now: Instant, cache: Cache): number;
}

/** Which keys to queue when objects of custom and aggregated resources change. All controllers share one cache of them. */
export interface ServedWatch {
  /** Which resources to follow, of those that can be listed and watched. */
  readonly wants: (resource: ServedResource) => boolean;
  /** As in `WatchSpec`, of the metadata alone. */
  readonly keys: (
    resource: ServedResource,
    object: KubeObject | undefined,
    old: KubeObject | undefined,
    cache: Cache,
  ) => readonly ReconcileKey[];
  /** Keys to queue when all objects of a resource have become known, or when none are known any longer. */
  readonly onSync: (resource: ServedResource, cache: Cache) => readonly ReconcileKey[];
  /** Called after each attempt to list a resource that has failed, while none of its objects are known. */
  readonly onUnlisted?: (resource: ServedResource) => void;
}

/**
 * A control loop, the shell of a plan. `reconcile` is given a key and nothing else: it reads the world again, calls a pure plan and carries out
 * its actions. It is called for one key at a time, again with backoff when it throws, and must be idempotent.
 */
export interface ControllerSpec {
  /** Kebab-case: used in logs, metrics and as the event source where Kubernetes has one (`eventSource`). */
  readonly name: string;
  readonly eventSource: string;
  readonly watches: readonly WatchSpec[];
  /** Custom and aggregated resources to follow. Readiness does not wait for them. */
  readonly served?: ServedWatch;
  /** How many keys are reconciled at once; 5 when absent. */
  readonly workers?: number;
  /**
   * A key is reconciled again when the cache shows what its last reconcile wrote: `soon` waits up to 5 minutes for that, `always` as
   * long as the term lasts. `always` is for controllers that must never act twice on the same state. `soon` when absent.
   */
  readonly awaitOwnWrites?: 'soon' | 'always';
  /** Called when a term begins, before its first reconcile: memory of an earlier term is out of date. */
  readonly begin?: () => void;
  /** Called when a term has ended, after its last reconcile. Clears gauges, which the next leader reports from then on. */
  readonly end?: () => void;
  readonly reconcile: (key: ReconcileKey, context: ControllerContext, signal: AbortSignal) => Promise<Result>;
}
