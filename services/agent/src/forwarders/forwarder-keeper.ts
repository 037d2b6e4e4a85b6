import { type Clock, ControlLoop, errorMessage, type Random } from '@gantry/base';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { Service } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { ForwardedPort, ForwarderRuntime } from '../runtime/forwarders.ts';
import type { ServiceSource } from '../sources/service-source.ts';
import {
  MAX_FORWARDED_PORTS,
  MAX_FORWARDERS,
  MAX_NAMESPACE_FORWARDERS,
  planForwarders,
  podsOf,
  type WantedForwarder,
  wantedForwarders,
  type WantedForwarders,
} from './plan-forwarders.ts';
import type { EngineInfo } from '../runtime/engine.ts';

export interface ForwarderKeeperOptions {
  readonly runtime: ForwarderRuntime;
  readonly services: Pick<ServiceSource, 'all' | 'subscribe'>;
  readonly events: EventRecorder;
  readonly cluster: string;
  readonly network: string;
  readonly podCidr: string;
  /** The id of the forwarders' image; undefined if no forwarders are wanted, and existing ones are removed. */
  readonly image: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** How often to look for forwarders that others removed or stopped, and to retry ports that were in use. */
const LOOK_EVERY_MS = 10_000;
const RETRY = { initialMs: 1000, maxMs: 30_000 };

/**
 * Keeps a forwarder for each Service of type LoadBalancer. The container forwards the Service's ports on the loopback of the engine's
 * host to the address of its load balancer, for hosts whose programs cannot reach that address, as on Docker Desktop. One agent per host
 * does this at a time.
 */
export class ForwarderKeeper {
  readonly #options: ForwarderKeeperOptions;
  /** What was wanted at the last look, and its time on the monotonic clock. */
  #looked = { hashes: '', atMs: Number.NEGATIVE_INFINITY };
  /** Forwarders whose ports were in use, with the time of the next attempt. */
  readonly #refused = new Map<string, number>();
  /** Reported Services that exceed the limits. */
  #omitted: ReadonlySet<string> = new Set();

  constructor(options: ForwarderKeeperOptions) {
    this.#options = options;
  }

  /** Keeps the forwarders until the signal is aborted. They stay then, for the next agent that leads. */
  async lead(signal: AbortSignal): Promise<void> {
    const { services, clock, random, logger, image } = this.#options;
    this.#looked = { hashes: '', atMs: Number.NEGATIVE_INFINITY };
    await new ControlLoop({
      subscribe: (notify) => (image === undefined ? [] : [services.subscribe(notify)]),
      round: () => this.#keep(signal),
      intervalMs: image === undefined ? Infinity : LOOK_EVERY_MS,
      retry: RETRY,
      retryOn: 'time',
      onError: (error) => {
        this.#looked = { hashes: '', atMs: Number.NEGATIVE_INFINITY };
        logger.warn({ reason: errorMessage(error) }, 'cannot update the forwarders of Services');
      },
      clock,
      random,
    }).run(signal);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { runtime, services, cluster, podCidr, image, clock } = this.#options;
    const found = image === undefined ? NONE : wantedForwarders(await services.all(signal), podCidr, image);
    this.#reportOmitted(found.omitted);
    const hashes = found.wanted.map((forwarder) => keyOf(forwarder)).join();
    const nowMs = clock.monotonicMs();
    // Services change often. Ask the engine only about changes that concern forwarders.
    if (hashes === this.#looked.hashes && nowMs - this.#looked.atMs < LOOK_EVERY_MS) return;
    this.#looked = { hashes, atMs: nowMs };
    for (const [key, untilMs] of this.#refused) if (untilMs <= nowMs) this.#refused.delete(key);
    const present = await runtime.listForwarders(cluster, signal);
    for (const action of planForwarders(found, present, new Set(this.#refused.keys()))) {
      if (action.kind === 'remove') await runtime.removeForwarder(action.id, signal);
      else await this.#start(action.forwarder, signal);
    }
  }

  /** Uses the Service's own port numbers, or its node ports if one of these numbers is in use on the host. */
  async #start(forwarder: WantedForwarder, signal: AbortSignal): Promise<void> {
    const { events, clock, logger } = this.#options;
    const { service, ports, nodePorts } = forwarder;
    const { namespace, name } = service.metadata;
    const failure = await this.#attempt(forwarder, ports, signal);
    if (failure === undefined) {
      logger.info({ namespace, service: name }, 'a load balancer is forwarded from 127.0.0.1');
      return;
    }
    const isElsewhere = nodePorts.length > 0 && (await this.#attempt(forwarder, nodePorts, signal)) === undefined;
    if (!isElsewhere) this.#refused.set(keyOf(forwarder), clock.monotonicMs() + LOOK_EVERY_MS);
    const outcome = isElsewhere ? `${describe(nodePorts)} is forwarded instead` : 'nothing is forwarded';
    events.event(service, 'Warning', 'ForwarderFailed', `${describe(ports)}: ${failure}; ${outcome}`);
  }

  /** Why the host refuses the forwarder; undefined when it runs. */
  async #attempt(
    { service, uid, hash, target }: WantedForwarder,
    ports: readonly ForwardedPort[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { runtime, cluster, network, podCidr, image = '' } = this.#options;
    const { namespace = '', name = '' } = service.metadata;
    const place = { cluster, image, network, closedRange: podsOf(podCidr) };
    try {
      await runtime.startForwarder({ ...place, namespace, name, uid, hash, target, ports }, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return errorMessage(error);
    }
  }

  #reportOmitted(omitted: readonly Service[]): void {
    for (const service of omitted) {
      if (this.#omitted.has(service.metadata.uid ?? '')) continue;
      const message = `not forwarded from 127.0.0.1: at most ${BOUNDS}`;
      this.#options.events.event(service, 'Warning', 'TooManyForwarders', message);
    }
    this.#omitted = new Set(omitted.map(({ metadata }) => metadata.uid ?? ''));
  }
}

const NONE: WantedForwarders = { wanted: [], omitted: [] };
const BOUNDS = `${MAX_FORWARDERS} Services are, ${MAX_NAMESPACE_FORWARDERS} of a namespace, with ${MAX_FORWARDED_PORTS} ports each`;

function keyOf({ uid, hash }: WantedForwarder): string {
  return `${uid} ${hash}`;
}

function describe(ports: readonly ForwardedPort[]): string {
  return `127.0.0.1 (${ports.map(({ hostPort, protocol }) => `${hostPort}/${protocol}`).join(', ')})`;
}

/** The host address of published ports: the loopback address that all systems have. */
export const LOOPBACK = '127.0.0.1';

/** Whether load balancers are forwarded from the host's loopback. On Docker Desktop, the engine runs in a virtual machine. */
export function isForwarding(setting: 'auto' | 'on' | 'off', { os }: Pick<EngineInfo, 'os'>): boolean {
  return setting === 'auto' ? os === 'Docker Desktop' : setting === 'on';
}
