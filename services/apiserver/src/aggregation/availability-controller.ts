import type { EndpointSlice } from '@gantry/api';
import { type Clock, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import type { ServiceObjects } from '../webhook-client/index.ts';
import {
  API_SERVICES,
  type ApiServiceIndex,
  remoteOf,
  type RemoteApi,
  type StoredApiService,
} from './api-service-index.ts';
import { checkDiscovery } from './fetch-remote.ts';
import type { OwnWrites } from '../upkeep/own-writes.ts';
import { failedDiscovery, type Finding, judgeBacking, LOCAL, PASSED, withAvailability } from './plan-availability.ts';
import type { RemoteServers } from './remote-servers.ts';
import { Wake } from '../upkeep/wake.ts';

export interface AvailabilityOptions {
  readonly cache: WatchCache;
  readonly index: ApiServiceIndex;
  readonly objects: ServiceObjects;
  readonly servers: RemoteServers;
  readonly writes: OwnWrites;
  /** Whether it is this apiserver that tells what is available: of several, one. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 30_000;
/** How soon one that does not lead notices that it does. */
const LEADS_AGAIN_MS = 5000;
const RETRY_FIRST_MS = 250;
/** One server is not asked more often, whatever changes. */
const NOT_SOONER_MS = 250;
const OBSERVED = [
  API_SERVICES,
  { group: '', resource: 'services' },
  { group: 'discovery.k8s.io', resource: 'endpointslices' },
  { group: '', resource: 'endpoints' },
] as const;
const APISERVICE = { ...API_SERVICES, version: 'v1' } as const;

interface Checked {
  /** Of everything that was decided from. */
  readonly basis: string;
  readonly at: number;
  readonly failures: number;
}

/**
 * Keeps the condition Available of every APIService true: looks at what is behind it, and asks its server. Looks again when
 * any of that changes, every half minute, and sooner at a server that did not answer.
 */
export function availabilityController(options: AvailabilityOptions): GroupMember {
  return { name: 'api-service-availability', run: (signal) => new AvailabilityController(options).run(signal) };
}

class AvailabilityController {
  readonly #options: AvailabilityOptions;
  readonly #wake = new Wake();
  readonly #checked = new Map<string, Checked>();
  readonly #checking = new Set<string>();

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { cache, clock, leads, logger } = this.#options;
    const stops = OBSERVED.map((resource) => cache.resource(resource).observe(this.#wake.ring));
    while (!signal.aborted) {
      let dueAt: number;
      try {
        await cache.whenReady(signal);
        dueAt = (await leads(signal)) ? this.#start(signal) : clock.monotonicMs() + LEADS_AGAIN_MS;
      } catch (error) {
        if (!signal.aborted) logger.warn({ reason: errorMessage(error) }, 'the availability of APIs is not known');
        dueAt = clock.monotonicMs() + RETRY_FIRST_MS * 4;
      }
      await this.#wake.wait(clock, dueAt - clock.monotonicMs(), signal);
    }
    for (const stop of stops) stop();
  }

  /** Checks those whose time has come, and says when the next one's does. */
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
    const told = (status?.conditions ?? []).map(({ type, status: is, reason, message }) => [type, is, reason, message]);
    const { service } = spec ?? {};
    if (service === undefined) return JSON.stringify([metadata.uid, told]);
    const { namespace = '', name = '' } = service;
    const { objects } = this.#options;
    const behind = [
      objects.service(namespace, name),
      objects.endpoints(namespace, name),
      ...objects.slices(namespace, name),
    ];
    return JSON.stringify([metadata.uid, spec, told, behind.map((one) => one?.metadata?.resourceVersion)]);
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
      await this.#tell(apiService, finding, signal);
    } catch (error) {
      failures = (before?.failures ?? 0) + 1;
      if (!signal.aborted)
        logger.warn({ apiService: name, reason: errorMessage(error) }, 'its availability is not told');
    }
    this.#checked.set(name, { basis, at: clock.monotonicMs(), failures });
    this.#checking.delete(name);
    this.#wake.ring();
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
      return PASSED;
    } catch (error) {
      signal.throwIfAborted();
      return failedDiscovery(errorMessage(error));
    }
  }

  async #tell(apiService: StoredApiService, finding: Finding, signal: AbortSignal): Promise<void> {
    const { writes, clock } = this.#options;
    const status = withAvailability(apiService, finding, clock.now());
    if (status === undefined) return;
    const told: StoredApiService = { ...apiService, status };
    await writes.update(APISERVICE, told, 'status', signal);
  }
}

/** The slices of a service; from its Endpoints while nobody has mirrored these. */
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
