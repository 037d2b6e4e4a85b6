import { hostname } from 'node:os';
import {
  anySignal,
  type Clock,
  errorMessage,
  lead,
  type Random,
  systemClock,
  systemRandom,
  systemUid,
  untilAborted,
} from '@gantry/base';
import {
  type Cache,
  ControllerGroup,
  createControllerMetrics,
  createServedResources,
  type InformedResource,
  Informers,
  ResourceDirectory,
} from '@gantry/controller-runtime';
import { dns1123Subdomain, type ObjectKey } from '@gantry/objects';
import {
  createHealth,
  createLogger,
  createMetrics,
  type GroupMember,
  type GroupOutcome,
  httpEndpoint,
  type Logger,
  type LogLevel,
  type Metrics,
  runGroup,
  runMain,
} from '@gantry/service';
import { type Cluster, connect } from './cluster.ts';
import { type Controller, controllerSpec } from './controller.ts';
import { OptionsError } from './options-error.ts';
import { LeaseElection, type LeaseTimes, whileLeading } from './lease-election.ts';
import { createOperatorMeter, type OperatorMeter } from './operator-meters.ts';
import type { Tracer } from './tracer.ts';
import { serveWebhooks, type ServedWebhooks } from './webhooks/serve-webhooks.ts';
import { checkWebhooks, type WebhookOptions } from './webhooks/webhook-options.ts';

/** How the replicas of an operator agree on one that acts. */
export interface LeaderElection extends LeaseTimes {
  /** The name of the Lease; the name of the operator when absent. */
  readonly name?: string;
  /** The namespace of the Lease; that of the cluster's context or of the pod when absent. */
  readonly namespace?: string;
}

/** Options of `runOperator` and `createOperator`. */
export interface OperatorOptions {
  /** A DNS name, such as `backups` or `backups.example.com`: the field manager of writes, the source of Events, the name of the Lease. */
  readonly name: string;
  readonly controllers: readonly Controller[];
  /**
   * Resources of the shared cache with a narrower scope than all objects in full (a namespace, selectors, metadata alone), and resources
   * that no controller watches. All controllers share them.
   */
  readonly caches?: readonly InformedResource[];
  /** Where to work; `connect({ name })` when absent. */
  readonly cluster?: Cluster;
  /** Only needed for more than one replica. No election when absent: this process acts at once. */
  readonly leaderElection?: LeaderElection;
  /**
   * How long the caches may take, in milliseconds, to list everything and, after another leader, to catch up with what it wrote. Then the
   * operator ends with a CacheSyncError, which names the resources: one of them may not exist, or may not be read. 120,000 when absent.
   */
  readonly cacheSyncTimeoutMs?: number;
  /** Admission and conversion webhooks, which this process serves over HTTPS. */
  readonly webhooks?: WebhookOptions;
  /** Where to serve `/metrics`, `/healthz`, `/livez` and `/readyz`. Not served when absent. */
  readonly http?: { readonly host?: string; readonly port: number };
  /** Of the lines on standard output, one JSON object each; `info` when absent. */
  readonly logLevel?: LogLevel;
  /** Replaces the lines on standard output. */
  readonly logger?: Logger;
  /** Makes a span of each reconcile and of each request to a webhook: `trace.getTracer(name)` of `@opentelemetry/api`. None when absent. */
  readonly tracer?: Tracer;
  /** For tests: the time, and random numbers. */
  readonly clock?: Clock;
  readonly random?: Random;
}

/** An operator that has been put together and does not run yet. */
export interface Operator {
  readonly cache: Cache;
  /** Prometheus' text form of all metrics. */
  metrics(): Promise<string>;
  /** Names of resources that have not been listed yet. The operator is ready when there are none. */
  missing(): readonly string[];
  /**
   * Runs until SIGTERM, SIGINT or a failure. Then it starts no new reconcile, waits for running ones (at most 8 s), releases the Lease and
   * resolves with the reason.
   */
  run(): Promise<GroupOutcome>;
  /** Runs until the signal is aborted, and stops as after SIGTERM. Rejects with the error of a failure. */
  runUntil(signal: AbortSignal): Promise<void>;
}

/** Reconciles at once by one controller, as in the runtime. */
const DEFAULT_WORKERS = 5;
/** As in controller-runtime. */
const DEFAULT_CACHE_SYNC_MS = 120_000;
/** The API server's limit for the name of a field manager. */
const MAX_NAME = 128;

/**
 * Runs an operator as this process, until SIGTERM or SIGINT. Ends the process: with code 0 after an orderly stop, otherwise with 1.
 *
 * @example
 * ```ts
 * import { CONFIG_MAPS, runOperator, watchSelf } from '@gantry/operator';
 *
 * await runOperator({
 *   name: 'greeter',
 *   leaderElection: {},
 *   http: { port: 8080 },
 *   controllers: [
 *     {
 *       name: 'greeter',
 *       watches: [watchSelf(CONFIG_MAPS)],
 *       reconcile: async (key, { cache, log }) => {
 *         log.info({ keys: Object.keys(cache.get(CONFIG_MAPS, key)?.data ?? {}) }, 'hello');
 *         return {};
 *       },
 *     },
 *   ],
 * });
 * ```
 */
export async function runOperator(options: OperatorOptions): Promise<void> {
  await runMain(async () => await createOperator(options).run());
}

/**
 * Puts an operator together, for a process that does more than that, and for tests. Throws OptionsError and LeaseTimesError, which
 * name the field, and KubeconfigError.
 */
export function createOperator(options: OperatorOptions): Operator {
  checkOptions(options);
  return new ControllerOperator(options);
}

function checkOptions(options: OperatorOptions): void {
  const { name, controllers, webhooks, cacheSyncTimeoutMs = DEFAULT_CACHE_SYNC_MS } = options;
  if (!(cacheSyncTimeoutMs > 0)) throw new OptionsError(`cacheSyncTimeoutMs: must be more than 0`);
  const fault = name.length > MAX_NAME ? `must be no more than ${MAX_NAME} characters` : dns1123Subdomain(name)[0];
  if (fault !== undefined) throw new OptionsError(`name: ${JSON.stringify(name)}: ${fault}`);
  if (webhooks !== undefined) checkWebhooks(webhooks);
  else if (controllers.length === 0) throw new OptionsError('controllers: there is none');
  const names = new Set<string>();
  for (const controller of controllers) {
    if (controller.name === '') throw new OptionsError('controllers: one has no name');
    if (names.has(controller.name)) throw new OptionsError(`controllers[${controller.name}]: two have this name`);
    names.add(controller.name);
    if (controller.watches.length === 0)
      throw new OptionsError(`controllers[${controller.name}].watches: there is none`);
  }
}

/** Thrown when the caches are not complete in time; the message names the resources. */
export class CacheSyncError extends Error {
  override readonly name = 'CacheSyncError';
}

/** A part of the operator that runs until it is stopped has ended. */
class MemberError extends Error {
  override readonly name = 'MemberError';
}

class ControllerOperator implements Operator {
  readonly #options: OperatorOptions;
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #metrics: Metrics = createMetrics('part');
  readonly #meter: OperatorMeter = createOperatorMeter(this.#metrics);
  readonly #informers: Informers;
  readonly #group: ControllerGroup;
  readonly #webhooks: ServedWebhooks | undefined;
  readonly #election: { readonly election: LeaseElection; readonly lease: ObjectKey } | undefined;
  readonly #draining = new AbortController();
  /** Aborted with what ends the operator. */
  readonly #failed = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(options: OperatorOptions) {
    const { name, clock = systemClock, random = systemRandom, logLevel = 'info', caches = [] } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    const log = options.logger ?? createLogger({ service: name, level: logLevel });
    this.#logger = log;
    const { onActive, onExchange } = this.#meter;
    const { tracer } = options;
    const parts = { operator: name, clock, log, tracer, onActive };
    const controllers = options.controllers.map((controller) => controllerSpec(controller, parts));
    for (const { name: of, workers = DEFAULT_WORKERS } of controllers) this.#meter.setWorkers(of, workers);
    this.#cluster = options.cluster ?? connect({ name, onExchange });
    const { client } = this.#cluster;
    const resources = [...caches, ...controllers.flatMap(({ watches }) => watches.map(({ resource }) => resource))];
    this.#informers = new Informers({ client, managedFields: 'dropped', resources, clock, random, log });
    const directory = new ResourceDirectory({ discover: undefined, clock, random });
    const served = createServedResources(directory, this.#informers);
    const reports = createControllerMetrics(this.#metrics, () => this.#group.queues());
    this.#election = this.#createElection();
    const writing = this.#election === undefined ? client : whileLeading(client, this.#election.election);
    const shared = { client: writing, informers: this.#informers, clock, random, log };
    this.#group = new ControllerGroup({ ...shared, controllers, served, ...reports });
    const { webhooks } = options;
    const { onWebhook } = this.#meter;
    const place = { name, namespace: this.#cluster.namespace };
    this.#webhooks =
      webhooks === undefined
        ? undefined
        : serveWebhooks({ ...place, webhooks, client, clock, random, log, tracer, onWebhook });
  }

  #createElection(): { readonly election: LeaseElection; readonly lease: ObjectKey } | undefined {
    const { leaderElection, name } = this.#options;
    if (leaderElection === undefined) return undefined;
    const { client, namespace } = this.#cluster;
    const lease = { namespace: leaderElection.namespace ?? namespace, name: leaderElection.name ?? name };
    const election = new LeaseElection({
      ...leaderElection,
      client,
      lease,
      identity: `${hostname()}_${systemUid()}`,
      idle: () => Promise.allSettled([this.#working]).then(() => undefined),
      clock: this.#clock,
      random: this.#random,
      log: this.#logger,
    });
    return { election, lease };
  }

  get cache(): Cache {
    return this.#informers.cache;
  }

  async metrics(): Promise<string> {
    return (await this.#metrics.render()).text;
  }

  missing(): readonly string[] {
    return this.#informers.missing();
  }

  async run(): Promise<GroupOutcome> {
    return await this.#run(process);
  }

  async runUntil(signal: AbortSignal): Promise<void> {
    // It would never report its abort.
    if (signal.aborted) return;
    const outcome = await this.#run({
      on: (of, listener) => of === 'SIGTERM' && signal.addEventListener('abort', listener, { once: true }),
      off: (of, listener) => of === 'SIGTERM' && signal.removeEventListener('abort', listener),
    });
    if (outcome.kind === 'signal') return;
    throw outcome.error instanceof Error
      ? outcome.error
      : new MemberError(`${outcome.member} ended: ${errorMessage(outcome.error)}`);
  }

  async #run(signals: Parameters<typeof runGroup>[1]['signals']): Promise<GroupOutcome> {
    const { http } = this.#options;
    const health = createHealth({
      ready: [
        { name: 'caches', check: () => this.#checkListed() },
        ...(this.#webhooks === undefined ? [] : [{ name: 'webhooks', check: this.#webhooks.checkServed }]),
      ],
    });
    const host = http?.host ?? '0.0.0.0';
    const members: GroupMember[] = [
      ...(http === undefined ? [] : [httpEndpoint({ health, metrics: this.#metrics, host, port: http.port })]),
      ...(this.#webhooks?.members ?? []),
      { name: 'caches', run: (signal) => this.#informers.run(signal) },
      { name: 'controllers', run: (signal) => this.#runControllers(signal), drain: () => this.#drain() },
    ];
    try {
      return await runGroup(members, {
        clock: this.#clock,
        logger: this.#logger,
        ...(signals === undefined ? {} : { signals }),
      });
    } finally {
      if (this.#options.cluster === undefined) this.#cluster[Symbol.dispose]();
    }
  }

  #checkListed(): void {
    const missing = this.missing();
    if (missing.length > 0) throw new OptionsError(`not listed yet: ${missing.join(', ')}`);
  }

  /** Starts no new reconcile. Resolves when the running ones have ended. */
  async #drain(): Promise<void> {
    this.#draining.abort();
    await Promise.allSettled([this.#working]);
  }

  async #runControllers(signal: AbortSignal): Promise<void> {
    using stop = anySignal(signal, this.#failed.signal);
    await this.#lead(stop);
    this.#failed.signal.throwIfAborted();
  }

  async #lead(signal: AbortSignal): Promise<void> {
    if (this.#election === undefined) {
      await this.#act('nobody', signal);
      return;
    }
    const { election, lease } = this.#election;
    const { setLeading } = this.#meter;
    setLeading(lease.name, false);
    await lead(
      {
        election,
        act: async ({ follows }, ended) => {
          setLeading(lease.name, true);
          await this.#act(follows, ended).finally(() => setLeading(lease.name, false));
        },
        clock: this.#clock,
        random: this.#random,
        log: this.#logger,
      },
      signal,
    );
  }

  /** Works until the signal is aborted. While it drains, it keeps its Lease, so that nobody else works at the same time. */
  async #act(follows: 'another' | 'nobody', signal: AbortSignal): Promise<void> {
    this.#working = this.#work(follows, signal);
    await this.#working;
    await untilAborted(signal);
  }

  async #work(follows: 'another' | 'nobody', signal: AbortSignal): Promise<void> {
    using stop = anySignal(signal, this.#draining.signal);
    try {
      await this.#synchronise(follows, stop);
      await this.#group.run(stop, signal);
    } catch (error) {
      if (!stop.aborted) throw error;
    }
  }

  async #synchronise(follows: 'another' | 'nobody', signal: AbortSignal): Promise<void> {
    const { cacheSyncTimeoutMs = DEFAULT_CACHE_SYNC_MS } = this.#options;
    const cancel = this.#clock.setTimer(cacheSyncTimeoutMs, () => {
      const names = this.#informers.lagging().join(', ');
      this.#failed.abort(new CacheSyncError(`caches are not complete after ${cacheSyncTimeoutMs / 1000} s: ${names}`));
    });
    try {
      await this.#informers.when(() => this.#informers.synced(), signal);
      if (follows === 'another') await this.#informers.catchUp(signal);
    } finally {
      cancel();
    }
  }
}
