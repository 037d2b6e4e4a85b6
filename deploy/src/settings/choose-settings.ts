import { createHash } from 'node:crypto';
import { type Cidr, contains, overlaps } from './ranges.ts';

/** The settings of one cluster; docker-compose.yml uses them. */
export interface Settings {
  readonly clusterId: string;
  readonly port: number;
  /** Where Ingresses are served on 127.0.0.1. */
  readonly ingressHttpPort: number;
  readonly ingressHttpsPort: number;
  /** Where the console is served on 127.0.0.1. */
  readonly consolePort: number;
  readonly controlCidr: Cidr;
  readonly podCidr: Cidr;
  readonly podServicesRange: Cidr;
  readonly serviceCidr: Cidr;
  readonly controlBridge: string;
  readonly podBridge: string;
  /** The address of this machine that other hosts of the cluster reach; '' without others. */
  readonly hostAddress: string;
  /** Contains the ranges of the pods of all hosts; '' for the default, the /16 around `podCidr`. */
  readonly clusterCidr: Cidr;
  /** The port of `hostAddress` at which agents of other hosts reach the API. */
  readonly joinGrpcPort: number;
}

/** Settings of a cluster with other hosts. They are given to `up`, not chosen, and stay until they are given anew. */
export type GivenSettings = Pick<Settings, 'hostAddress' | 'clusterCidr' | 'joinGrpcPort'>;

/** Without other hosts. */
export const NOT_GIVEN: GivenSettings = { hostAddress: '', clusterCidr: '', joinGrpcPort: 16_443 };

/** The settings that are published ports. */
export const PORT_SETTINGS = ['port', 'ingressHttpPort', 'ingressHttpsPort', 'consolePort'] as const;

/** A network of the engine. */
export interface Network {
  readonly name: string;
  readonly subnets: readonly string[];
}

/** Ranges and ports in use on this machine by others. */
export interface InUse {
  readonly ranges: readonly Cidr[];
  /** The cluster's own networks that are there already. */
  readonly own: readonly Network[];
  /** Whether the cluster has data. It keeps its Service range then: its Services have addresses of it. */
  readonly hasData: boolean;
  isPortFree(port: number): Promise<boolean>;
}

/** Every candidate is in use. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
}

const FIRST_PORT = 6_443;
const FIRST_HTTP_PORT = 8_080;
const FIRST_HTTPS_PORT = 8_443;
const FIRST_CONSOLE_PORT = 8_700;
const PORTS = 200;

/** What engine and host call the parts of the cluster in `home`, also before its first `up` and after its settings are gone. */
export function namesOf(home: string): Pick<Settings, 'clusterId' | 'controlBridge' | 'podBridge'> {
  const suffix = createHash('sha256').update(home).digest('hex').slice(0, 6);
  return { clusterId: `gantry-${suffix}`, controlBridge: `gtc-${suffix}`, podBridge: `gtp-${suffix}` };
}

/** The names of a cluster's networks. */
export function networksOf(clusterId: string): { readonly control: string; readonly pods: string } {
  return { control: `${clusterId}-control`, pods: `${clusterId}-pods` };
}

/**
 * Chooses the settings of the cluster in `home`: names derived from the folder, and free ranges and ports. Ranges of networks that
 * an earlier cluster of the folder has left are preferred: the engine keeps networks that it could not remove. The range of pods is
 * inside of the given range of the cluster. NoRoomError when there is nothing to choose.
 */
export async function chooseSettings(
  home: string,
  inUse: InUse,
  given: Partial<GivenSettings> = {},
): Promise<Settings> {
  const { clusterCidr } = { ...NOT_GIVEN, ...given };
  const isInside = (block: string) => clusterCidr === '' || contains(clusterCidr, podRange(block));
  const { clusterId, controlBridge, podBridge } = namesOf(home);
  const left = podBlocks().filter((candidate) =>
    inUse.own.some(({ subnets }) => subnets.includes(podRange(candidate)) || subnets.includes(controlRange(candidate))),
  );
  const block = [...left, ...podBlocks()].find(
    (candidate) => isInside(candidate) && isFree(`${candidate}.0.0/16`, inUse),
  );
  const service = serviceBlocks().find((candidate) => isFree(candidate, inUse));
  if (block === undefined && clusterCidr !== '')
    throw new NoRoomError(
      `GANTRY_CLUSTER_CIDR: ${clusterCidr} contains no free range for pods of those to choose from: the first /20 of each /16 from ${POD_BLOCKS}`,
    );
  if (block === undefined || service === undefined) throw new NoRoomError('no private address range is free');
  return {
    clusterId,
    port: await freePort(FIRST_PORT, inUse),
    ingressHttpPort: await freePort(FIRST_HTTP_PORT, inUse),
    ingressHttpsPort: await freePort(FIRST_HTTPS_PORT, inUse),
    consolePort: await freePort(FIRST_CONSOLE_PORT, inUse),
    controlCidr: controlRange(block),
    podCidr: podRange(block),
    podServicesRange: `${block}.0.0/22`,
    serviceCidr: service,
    controlBridge,
    podBridge,
    ...NOT_GIVEN,
    ...given,
  };
}

const podRange = (block: string): Cidr => `${block}.0.0/20`;
const controlRange = (block: string): Cidr => `${block}.240.0/24`;

/** The cluster's own networks whose range is not that of the settings: Compose would use them as they are. */
export function misplaced(settings: Settings, { own }: InUse): readonly Network[] {
  const { control, pods } = networksOf(settings.clusterId);
  const wanted = new Map([
    [control, settings.controlCidr],
    [pods, settings.podCidr],
  ]);
  return own.filter(({ name, subnets }) => {
    const range = wanted.get(name);
    return range !== undefined && !subnets.includes(range);
  });
}

/** Replaces ranges and ports that are now used by others. Returns the same object when none is. */
export async function refreshSettings(settings: Settings, home: string, inUse: InUse): Promise<Settings> {
  const taken: (typeof PORT_SETTINGS)[number][] = [];
  // Settings files of earlier versions have no ports for Ingresses and the console; they are read as 0.
  for (const name of PORT_SETTINGS) {
    if (settings[name] === 0 || !(await inUse.isPortFree(settings[name]))) taken.push(name);
  }
  const rangesFree = [settings.controlCidr, settings.podCidr].every((range) => isFree(range, inUse));
  const keepsServices = inUse.hasData || isFree(settings.serviceCidr, inUse);
  if (taken.length === 0 && rangesFree && keepsServices) return settings;
  const fresh = await chooseSettings(home, inUse, rangesFree ? {} : { clusterCidr: settings.clusterCidr });
  return {
    ...settings,
    ...Object.fromEntries(taken.map((name) => [name, fresh[name]])),
    ...(rangesFree
      ? {}
      : { controlCidr: fresh.controlCidr, podCidr: fresh.podCidr, podServicesRange: fresh.podServicesRange }),
    ...(keepsServices ? {} : { serviceCidr: fresh.serviceCidr }),
  };
}

function isFree(range: Cidr, inUse: InUse): boolean {
  return !inUse.ranges.some((used) => overlaps(range, used));
}

async function freePort(first: number, inUse: InUse): Promise<number> {
  for (let port = first; port < first + PORTS; port++) {
    if (await inUse.isPortFree(port)) return port;
  }
  throw new NoRoomError(`no port from ${first} to ${first + PORTS - 1} is free on 127.0.0.1`);
}

/** `podBlocks` in words. */
const POD_BLOCKS = '10.128 to 10.191, from 172.20 to 172.31 and from 100.100 to 100.120';

function podBlocks(): readonly string[] {
  const upTo = (first: number, last: number, block: (n: number) => string) =>
    Array.from({ length: last - first + 1 }, (_, i) => block(first + i));
  return [
    ...upTo(128, 191, (n) => `10.${n}`),
    ...upTo(20, 31, (n) => `172.${n}`),
    ...upTo(100, 120, (n) => `100.${n}`),
  ];
}

function serviceBlocks(): readonly Cidr[] {
  return Array.from({ length: 24 }, (_, i) => `10.${96 + i}.0.0/16`);
}
