import type { Clock, Instant, Random } from '@gantry/base';
import type { KubeObject, Resource } from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import type { Cache } from './cache.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { ReconcileKey } from './reconcile-key.ts';
import type { ServedResource } from './served-resource.ts';
import type { ServedResources } from './served-resources.ts';

/** The result of a reconcile. Without `requeueAfterMs`, the key is not reconciled before its next change. */
export interface Result {
  readonly requeueAfterMs?: number;
}

/** What a reconcile may use. Reads come from the cache; writes carry the leader's fence. */
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
  /** Keys to queue for a change from `old` to `object`. `old` is undefined for a new object, `object` for a deleted one. */
  keys(object: T | undefined, old: T | undefined, cache: Cache): readonly ReconcileKey[];
  /**
   * Milliseconds before these keys are reconciled, so that one reconcile covers several changes; 0 when absent. A key that already waits
   * keeps the earlier time. There is no delay for the keys queued at the start of a term.
   */
  delayMs?(object: T | undefined, old: T | undefined, now: Instant, cache: Cache): number;
}

/** Which keys to queue when objects of custom and aggregated resources change. All controllers share one cache of these objects. */
export interface ServedWatch {
  /** Whether to follow a resource. Called only for resources that support list and watch. */
  readonly wants: (resource: ServedResource) => boolean;
  /** As in `WatchSpec`, but the objects have only metadata. */
  readonly keys: (
    resource: ServedResource,
    object: KubeObject | undefined,
    old: KubeObject | undefined,
    cache: Cache,
  ) => readonly ReconcileKey[];
  /** Keys to queue when all objects of a resource have become known, or when the resource is no longer followed. */
  readonly onSync: (resource: ServedResource, cache: Cache) => readonly ReconcileKey[];
  /** Called after each failed attempt to list a resource, while none of its objects are known. */
  readonly onUnlisted?: (resource: ServedResource) => void;
}

/**
 * A control loop, the shell of a plan. `reconcile` receives a key and nothing else. It reads the current state, calls a pure plan and
 * executes its actions. A key never has two reconciles at a time. When `reconcile` throws, it is called again with back-off. It must be
 * idempotent.
 *
 * @example
 * ```ts
 * const replicaSetController: ControllerSpec = {
 *   name: 'replica-set',
 *   eventSource: 'replicaset-controller',
 *   watches: [watchSelf(REPLICA_SETS), watchMapped(PODS, ownersOf)], // ownersOf: (pod: Pod) => readonly ObjectKey[]
 *   reconcile: async (key, { cache, client, clock }, signal) => {
 *     const replicaSet = cache.get(REPLICA_SETS, key);
 *     if (replicaSet === undefined) return {};
 *     const pods = cache.controlledBy(PODS, key.namespace, replicaSet.metadata.uid ?? '');
 *     const plan = planReplicaSet({ replicaSet, pods }, clock.now());
 *     return await carryOut(plan, (action) => execute(action, client, signal), clock);
 *   },
 * };
 * ```
 */
export interface ControllerSpec {
  /** Kebab-case: used in logs, metrics and as the event source where Kubernetes has one (`eventSource`). */
  readonly name: string;
  readonly eventSource: string;
  readonly watches: readonly WatchSpec[];
  /** Custom and aggregated resources to follow. Readiness does not wait for them. */
  readonly served?: ServedWatch;
  /** The number of keys that are reconciled in parallel; 5 when absent. */
  readonly workers?: number;
  /**
   * To whose share a key counts, such as the tenant to whom the object belongs; its namespace when absent. Shares take turns, and of three or
   * more workers, one share has at most all but one, so that neither many nor slow objects of one delay those of the others. Pure; called
   * when the key is queued.
   */
  readonly share?: (key: ReconcileKey, cache: Cache) => string;
  /**
   * A key is reconciled again only when the cache shows the writes of its last reconcile. `soon` waits up to 5 minutes for that, `always`
   * until the term ends. Use `always` for a controller that must never act twice on the same state. `soon` when absent.
   */
  readonly awaitOwnWrites?: 'soon' | 'always';
  /** Called when a term begins, before its first reconcile. Clears state that is left from an earlier term. */
  readonly begin?: () => void;
  /** Called when a term has ended, after its last reconcile. Clears gauges, which the next leader then reports. */
  readonly end?: () => void;
  readonly reconcile: (key: ReconcileKey, context: ControllerContext, signal: AbortSignal) => Promise<Result>;
}
