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
import { ControllerRunner, type ReconcileReport, type StaleReport } from './controller-runner.ts';
import { createEventRecorder } from './event-writer.ts';
import { type InformedResource, type InformerEvent, Informers } from './informers.ts';
import { keepLeaderRecord } from './leader-record.ts';
import type { FenceHolder, Term } from './leadership.ts';
import type { Log } from './log.ts';
import type { Discover } from './remote-group.ts';
import { QueueMeter, type QueueObserver, type QueueState } from './queue-meter.ts';
import { ResourceDirectory } from './resource-directory.ts';
import type { ObjectChange } from './resource-index.ts';
import { createRoutedClient } from './routed-client.ts';
import { isEmptied, isFollowable } from './served-resource.ts';
import { createServedResources } from './served-resources.ts';

export interface ManagerOptions {
  /** Writes with the fence of `fences`. */
  readonly client: ObjectClient;
  readonly fences: FenceHolder;
  /** Shown to clients as the leader: the component (`kube-controller-manager`) and this process of it. */
  readonly component: string;
  readonly identity: string;
  readonly controllers: readonly ControllerSpec[];
  /** Cached in addition to what the controllers watch. */
  readonly resources?: readonly InformedResource[];
  /** The way to aggregated API servers; without it controllers know only custom resources. */
  readonly aggregated?: { readonly client: ObjectClient; readonly discover: Discover };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onReconcile?: (report: ReconcileReport) => void;
  readonly onStale?: (report: StaleReport) => void;
  /** Takes note of reconciles, for reports of stalls. */
  readonly activities?: Activities;
  /** Where the times of a controller's queue go, by the controller's name. */
  readonly observeQueue?: (name: string) => QueueObserver;
}

/** Warm caches always; control loops while leading. */
export interface Manager {
  readonly cache: Cache;
  /** Keeps the caches until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Leads a term, as an election asks it to: once the caches have reached the term's epoch all controllers run, until the
   * signal is aborted and nothing is under way any more. One term at a time.
   */
  lead(term: Term, signal: AbortSignal): Promise<void>;
  /** Takes nothing new, in this term and all later ones, and resolves when what is under way is finished. */
  drain(): Promise<void>;
  /** Resources never listed yet; a process with any is not ready. */
  missing(): readonly string[];
  /** The queues of all controllers, for metrics. */
  queues(): readonly QueueState[];
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
  readonly #draining = new AbortController();
  readonly #meters: ReadonlyMap<string, QueueMeter>;
  #acting: Promise<void> = Promise.resolve();

  constructor(options: ManagerOptions) {
    const { clock, random, log, controllers, aggregated, resources = [] } = options;
    this.#options = options;
    this.#meters = new Map(controllers.map(({ name }) => [name, new QueueMeter(name, options.observeQueue?.(name))]));
    const watched = [
      ...resources,
      ...controllers.flatMap(({ watches }) => watches.map(({ resource }) => resource)),
      ...(controllers.some(({ served }) => served !== undefined) ? [CUSTOM_RESOURCE_DEFINITIONS, API_SERVICES] : []),
    ];
    this.#directory = new ResourceDirectory({ discover: aggregated?.discover, clock, random });
    this.#client = this.#createClient();
    this.#informers = new Informers({ client: this.#client, resources: watched, clock, random, log });
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
    const now = this.#options.clock.monotonicMs();
    return [...this.#meters.values()].map((meter) => meter.state(now));
  }

  async lead(term: Term, signal: AbortSignal): Promise<void> {
    await this.#acting;
    if (!signal.aborted && !this.#draining.signal.aborted) {
      this.#acting = this.#act(term, signal);
      await this.#acting;
    }
    // Finished by draining: the term itself ends when the election says so.
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  async drain(): Promise<void> {
    this.#draining.abort();
    await this.#acting;
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

  /** Keeps the directory in step with the definitions and APIServices in the cache. */
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
   * A definition is deleted after its objects, but their watches are independent: when the definition's is first, the last
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

  async #act(term: Term, signal: AbortSignal): Promise<void> {
    const { fences, controllers, log } = this.#options;
    const { epoch } = term;
    const stop = AbortSignal.any([signal, this.#draining.signal]);
    try {
      await this.#informers.reach(epoch, stop);
      fences.set(term, () => this.cache.revision());
      log.info({ epoch, controllers: controllers.length }, 'controllers start');
      await Promise.all([
        keepLeaderRecord(this.#options, stop),
        ...controllers.map((spec) => this.#runController(spec, stop, signal)),
      ]);
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      fences.set(undefined, () => 0);
      log.info({ epoch }, 'controllers stopped');
    }
  }

  async #runController(spec: ControllerSpec, stop: AbortSignal, signal: AbortSignal): Promise<void> {
    const { clock, random, log, onReconcile, onStale, activities } = this.#options;
    const client = this.#client;
    const events = createEventRecorder({ client, component: spec.eventSource, clock, random, log });
    const meter = this.#meters.get(spec.name);
    const runner = new ControllerRunner(spec, {
      client,
      informers: this.#informers,
      served: createServedResources(this.#directory, this.#informers),
      events,
      clock,
      random,
      log,
      onReconcile,
      onStale,
      activities,
      meter,
    });
    try {
      await runner.run(stop, signal);
      await events.flush(signal);
    } finally {
      events.close();
    }
  }
}

function isSameResource(left: ResourceRef, right: ResourceRef): boolean {
  return left.group === right.group && left.resource === right.resource;
}
