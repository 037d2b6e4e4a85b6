import {
  API_SERVICES,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type ResourceRef,
} from '@gantry/objects';
import type { Activities, Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { Cache } from './cache.ts';
import type { ControllerSpec } from './controller.ts';
import { ControllerGroup } from './controller-group.ts';
import type { ReconcileReport, StaleReport } from './reconcile-report.ts';
import { type InformedResource, type InformerEvent, Informers } from './informers.ts';
import { type FenceHolder, Leader } from './leader.ts';
import type { Log } from './log.ts';
import type { LoopState } from './loop-log.ts';
import type { Discover } from './remote-group.ts';
import type { QueueObserver, QueueState } from './queue-meter.ts';
import { ResourceDirectory } from './resource-directory.ts';
import type { ObjectChange } from './resource-index.ts';
import { createRoutedClient } from './routed-client.ts';
import { isEmptied, isFollowable } from './served-resource.ts';
import { createServedResources } from './served-resources.ts';

export interface ManagerOptions {
  /** Writes with the fence of `fences`. */
  readonly client: ObjectClient;
  readonly fences: FenceHolder;
  /** Shown to clients as the leader: the component (`kube-controller-manager`) and the identity of this process. */
  readonly component: string;
  readonly identity: string;
  /** See `LeaderRecordOptions`. */
  readonly leaseTtlMs?: () => number;
  /** See `LeaderOptions`. */
  readonly resignAfterMs?: number;
  readonly controllers: readonly ControllerSpec[];
  /** Cached in addition to what the controllers watch. */
  readonly resources?: readonly InformedResource[];
  /** Access to aggregated API servers. Without it, controllers know only custom resources. */
  readonly aggregated?: { readonly client: ObjectClient; readonly discover: Discover };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onReconcile?: (report: ReconcileReport) => void;
  readonly onStale?: (report: StaleReport) => void;
  /** Records reconciles for reports of stalls. */
  readonly activities?: Activities;
  /** Returns the observer of a controller's queue times, by the controller's name. */
  readonly observeQueue?: (name: string) => QueueObserver;
}

/** Keeps caches warm at all times, and runs control loops while leading. */
export interface Manager {
  readonly cache: Cache;
  /** Keeps the caches until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Runs all controllers while it leads. */
  readonly leader: Leader;
  /** Resources that have not been listed yet. The process is not ready while there are any. */
  missing(): readonly string[];
  /** The queues of all controllers, for metrics. */
  queues(): readonly QueueState[];
  /** What each controller does, and what it did last. */
  loops(): readonly LoopState[];
}

/** Runs control loops over one shared cache. */
export function createManager(options: ManagerOptions): Manager {
  return new ControllerManager(options);
}

class ControllerManager implements Manager {
  readonly #options: ManagerOptions;
  readonly #client: ObjectClient;
  readonly #informers: Informers;
  readonly #directory: ResourceDirectory;
  readonly leader: Leader;
  readonly #group: ControllerGroup;

  constructor(options: ManagerOptions) {
    const { clock, random, log, controllers, aggregated, resources = [] } = options;
    this.#options = options;
    const watched = [
      ...resources,
      ...controllers.flatMap(({ watches }) => watches.map(({ resource }) => resource)),
      ...(controllers.some(({ served }) => served !== undefined) ? [CUSTOM_RESOURCE_DEFINITIONS, API_SERVICES] : []),
    ];
    this.#directory = new ResourceDirectory({ discover: aggregated?.discover, clock, random });
    this.#client = this.#createClient();
    this.#informers = new Informers({ client: this.#client, resources: watched, clock, random, log });
    const served = createServedResources(this.#directory, this.#informers);
    this.#group = new ControllerGroup({ ...options, client: this.#client, informers: this.#informers, served });
    this.leader = new Leader({
      ...options,
      informers: this.#informers,
      work: (stop, signal) => this.#group.run(stop, signal),
    });
    this.#informers.subscribe((event) => this.#take(event));
    this.#directory.subscribe(() => this.#followServed());
  }

  get cache(): Cache {
    return this.#informers.cache;
  }

  run(signal: AbortSignal): Promise<void> {
    this.#directory.run(signal);
    return this.#informers.run(signal);
  }

  missing(): readonly string[] {
    return this.#informers.missing();
  }

  queues(): readonly QueueState[] {
    return this.#group.queues();
  }

  loops(): readonly LoopState[] {
    return this.#group.loops();
  }

  #createClient(): ObjectClient {
    const { client: local, aggregated, fences } = this.#options;
    if (aggregated === undefined) return local;
    return createRoutedClient({
      local,
      remote: aggregated.client,
      isRemote: (resource) => this.#directory.isRemote(resource),
      fences,
    });
  }

  /** Updates the directory when a definition or an APIService in the cache changes. */
  #take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    if (isSameResource(event.resource, CUSTOM_RESOURCE_DEFINITIONS)) this.#emptyDeleted(event.changes);
    else if (!isSameResource(event.resource, API_SERVICES)) return;
    this.#directory.update({
      definitions: this.cache.list(CUSTOM_RESOURCE_DEFINITIONS),
      apiServices: this.cache.list(API_SERVICES),
    });
  }

  /**
   * A definition is deleted after its objects, but the watches are independent. If the event of the definition comes first, the last
   * deletions of its objects would never be reported.
   */
  #emptyDeleted(changes: readonly ObjectChange[]): void {
    for (const { object, old } of changes) {
      const crd = (object ?? old) as CustomResourceDefinition | undefined;
      if (crd === undefined || !isEmptied(crd)) continue;
      const { plural } = crd.status?.acceptedNames ?? crd.spec.names;
      this.#informers.empty({ group: crd.spec.group, resource: plural });
    }
  }

  /** Follows the served resources that any controller wants. */
  #followServed(): void {
    const wanted = this.#options.controllers.flatMap(({ served }) => (served === undefined ? [] : [served.wants]));
    const resources = this.#directory.list().filter((one) => isFollowable(one) && wanted.some((wants) => wants(one)));
    this.#informers.follow(resources);
  }
}

function isSameResource(left: ResourceRef, right: ResourceRef): boolean {
  return left.group === right.group && left.resource === right.resource;
}
