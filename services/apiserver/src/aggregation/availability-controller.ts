import { type EndpointSlice, ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '@gantry/objects';
import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import type { ServiceObjects } from '../webhooks/index.ts';
import {
  API_SERVICES,
  type ApiServiceIndex,
  remoteOf,
  type RemoteApi,
  type StoredApiService,
} from './api-service-index.ts';
import { checkDiscovery } from './fetch-remote.ts';
import { LEADS_AGAIN_MS } from '../peer-registry.ts';
import type { LoopbackClient } from '../loopback-client.ts';
import {
  failedDiscovery,
  type Finding,
  judgeBacking,
  LOCAL,
  PASSED,
  tooLargeDocuments,
  withAvailability,
} from './plan-availability.ts';
import type { RemoteDirectory } from './remote-documents.ts';
import type { RemoteServers } from './remote-servers.ts';

export interface AvailabilityOptions {
  readonly cache: WatchCache;
  readonly index: ApiServiceIndex;
  readonly objects: ServiceObjects;
  readonly servers: RemoteServers;
  readonly directory: RemoteDirectory;
  readonly client: LoopbackClient;
  /** Whether this apiserver writes the conditions. Only one of several does. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 30_000;
const RETRY_FIRST_MS = 250;
/** Minimum time between two checks of one server. */
const NOT_SOONER_MS = 250;
const OBSERVED = [API_SERVICES, SERVICES, ENDPOINT_SLICES, ENDPOINTS] as const;
const APISERVICE = { ...API_SERVICES, version: 'v1' } as const;

interface Checked {
  /** A digest of all inputs of the decision. */
  readonly basis: string;
  readonly at: number;
  readonly failures: number;
}

/**
 * Maintains the condition Available of every APIService: checks its Service and endpoints, and requests discovery from its server. Checks
 * again after a change of those, every 30 seconds, and sooner if a server does not respond.
 */
export function availabilityController(options: AvailabilityOptions): GroupMember {
  return new AvailabilityController(options).loop;
}

class AvailabilityController {
  readonly loop: ControlLoop;
  readonly #options: AvailabilityOptions;
  readonly #checked = new Map<string, Checked>();
  readonly #checking = new Set<string>();

  constructor(options: AvailabilityOptions) {
    this.#options = options;
    const { cache, clock, directory, leads, logger } = options;
    this.loop = new ControlLoop({
      name: 'api-service-availability',
      clock,
      intervalMs: EVERY_MS,
      retry: { initialMs: RETRY_FIRST_MS, maxMs: EVERY_MS },
      subscribe: (notify) => [
        ...OBSERVED.map((resource) => cache.resource(resource).observe(notify)),
        directory.observe(notify),
      ],
      round: async (signal) => {
        await cache.whenReady(signal);
        return (await leads(signal)) ? this.#start(signal) - clock.monotonicMs() : LEADS_AGAIN_MS;
      },
      onError: (error) =>
        logger.warn({ reason: errorMessage(error) }, 'checking the availability of APIs failed, retrying'),
    });
  }

  /** Starts the checks that are due. Returns the time of the next one. */
  #start(signal: AbortSignal): number {
    const { index, clock } = this.#options;
    const now = clock.monotonicMs();
    let next = now + EVERY_MS;
    const all = index.all();
    const present = new Set(all.map(({ metadata }) => metadata.name ?? ''));
    for (const name of this.#checked.keys()) if (!present.has(name)) this.#checked.delete(name);
    for (const apiService of all) {
      const name = apiService.metadata.name ?? '';
      if (this.#checking.has(name)) continue;
      const dueAt = this.#dueAt(apiService, now);
      if (dueAt <= now) void this.#check(apiService, signal);
      else next = Math.min(next, dueAt);
    }
    return next;
  }

  #dueAt(apiService: StoredApiService, now: number): number {
    const known = this.#checked.get(apiService.metadata.name ?? '');
    if (known === undefined) return now;
    if (known.basis !== this.#basisOf(apiService)) return known.at + NOT_SOONER_MS;
    if (apiService.spec?.service === undefined) return Number.MAX_SAFE_INTEGER;
    const { at, failures } = known;
    return at + (failures === 0 ? EVERY_MS : Math.min(EVERY_MS, RETRY_FIRST_MS * 2 ** failures));
  }

  #basisOf(apiService: StoredApiService): string {
    const { metadata, spec, status } = apiService;
    const conditions = (status?.conditions ?? []).map((one) => [one.type, one.status, one.reason, one.message]);
    const { service } = spec ?? {};
    if (service === undefined) return JSON.stringify([metadata.uid, conditions]);
    const { namespace = '', name = '' } = service;
    const { objects, directory } = this.#options;
    const remote = remoteOf(apiService);
    const excess = remote === undefined ? undefined : directory.excess(remote);
    const behind = [
      objects.service(namespace, name),
      objects.endpoints(namespace, name),
      ...objects.slices(namespace, name),
    ];
    return JSON.stringify([
      metadata.uid,
      spec,
      conditions,
      excess,
      behind.map((one) => one?.metadata?.resourceVersion),
    ]);
  }

  async #check(apiService: StoredApiService, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const name = apiService.metadata.name ?? '';
    const basis = this.#basisOf(apiService);
    const before = this.#checked.get(name);
    this.#checking.add(name);
    let failures = 0;
    try {
      const finding = await this.#find(apiService, signal);
      if (finding.reason === 'FailedDiscoveryCheck') failures = (before?.failures ?? 0) + 1;
      await this.#report(apiService, finding, signal);
    } catch (error) {
      failures = (before?.failures ?? 0) + 1;
      if (!signal.aborted)
        logger.warn(
          { apiService: name, reason: errorMessage(error) },
          'writing the availability of an API failed, retrying',
        );
    }
    this.#checked.set(name, { basis, at: clock.monotonicMs(), failures });
    this.#checking.delete(name);
    this.loop.notify();
  }

  async #find(apiService: StoredApiService, signal: AbortSignal): Promise<Finding> {
    const { objects } = this.#options;
    const remote = remoteOf(apiService);
    if (remote === undefined) return LOCAL;
    const { namespace, name } = remote.service;
    const slices = slicesOf(objects, namespace, name);
    const backing = judgeBacking(remote, objects.service(namespace, name), slices);
    return backing ?? (await this.#ask(remote, signal));
  }

  async #ask(remote: RemoteApi, signal: AbortSignal): Promise<Finding> {
    try {
      await checkDiscovery(this.#options, remote, signal);
      const excess = this.#options.directory.excess(remote);
      return excess === undefined ? PASSED : tooLargeDocuments(excess);
    } catch (error) {
      signal.throwIfAborted();
      return failedDiscovery(errorMessage(error));
    }
  }

  async #report(apiService: StoredApiService, finding: Finding, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const status = withAvailability(apiService, finding, clock.now());
    if (status === undefined) return;
    const changed: StoredApiService = { ...apiService, status };
    await client.update(APISERVICE, changed, 'status', signal);
  }
}

/** The EndpointSlices of a Service, or its Endpoints while they are not mirrored yet. */
function slicesOf(objects: ServiceObjects, namespace: string, name: string): readonly EndpointSlice[] {
  const slices = objects.slices(namespace, name);
  if (slices.length > 0) return slices;
  return (objects.endpoints(namespace, name)?.subsets ?? []).map(({ addresses = [], ports = [] }) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {},
    addressType: 'IPv4',
    endpoints: addresses.map(({ ip }) => ({ addresses: [ip] })),
    ports,
  }));
}
