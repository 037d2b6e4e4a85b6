import { createHash } from 'node:crypto';
import { type Cidr, overlaps } from './ranges.ts';

/** The settings of one cluster; docker-compose.yml uses them. */
export interface Settings {
  readonly clusterId: string;
  readonly port: number;
  readonly controlCidr: Cidr;
  readonly podCidr: Cidr;
  readonly podServicesRange: Cidr;
  readonly serviceCidr: Cidr;
  readonly controlBridge: string;
  readonly podBridge: string;
}

/** Ranges and ports in use on this machine. */
export interface InUse {
  readonly ranges: readonly Cidr[];
  isPortFree(port: number): Promise<boolean>;
}

/** Every candidate is in use. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
}

const FIRST_PORT = 6_443;
const PORTS = 200;

/** Chooses the settings of the cluster in `home`: names derived from the folder, and free ranges and ports. */
export async function chooseSettings(home: string, inUse: InUse): Promise<Settings> {
  const suffix = createHash('sha256').update(home).digest('hex').slice(0, 6);
  const block = podBlocks().find((candidate) => isFree(`${candidate}.0.0/16`, inUse));
  const service = serviceBlocks().find((candidate) => isFree(candidate, inUse));
  if (block === undefined || service === undefined) throw new NoRoomError('no private address range is free');
  return {
    clusterId: `gantry-${suffix}`,
    port: await freePort(inUse),
    controlCidr: `${block}.240.0/24`,
    podCidr: `${block}.0.0/20`,
    podServicesRange: `${block}.0.0/22`,
    serviceCidr: service,
    controlBridge: `gtc-${suffix}`,
    podBridge: `gtp-${suffix}`,
  };
}

/** Replaces ranges and ports that are now used by others. Returns the same object when none is. */
export async function refreshSettings(settings: Settings, home: string, inUse: InUse): Promise<Settings> {
  const portFree = await inUse.isPortFree(settings.port);
  const rangesFree = [settings.controlCidr, settings.podCidr].every((range) => isFree(range, inUse));
  if (portFree && rangesFree) return settings;
  const fresh = await chooseSettings(home, inUse);
  return {
    ...settings,
    port: portFree ? settings.port : fresh.port,
    ...(rangesFree
      ? {}
      : { controlCidr: fresh.controlCidr, podCidr: fresh.podCidr, podServicesRange: fresh.podServicesRange }),
  };
}

function isFree(range: Cidr, inUse: InUse): boolean {
  return !inUse.ranges.some((used) => overlaps(range, used));
}

async function freePort(inUse: InUse): Promise<number> {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++) {
    if (await inUse.isPortFree(port)) return port;
  }
  throw new NoRoomError(`no port from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} is free on 127.0.0.1`);
}

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
