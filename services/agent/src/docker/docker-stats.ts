import { dirname } from 'node:path';
import type { Clock } from '@gantry/base';
import type { ContainerStats, ContainerStorage, InterfaceStats, StatsRuntime } from '../runtime/stats.ts';
import type { GroupReader, GroupStats } from './cgroup-stats.ts';
import { getJson } from './dial.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { sandboxNetwork } from './sandbox-network.ts';
import { LEGACY_MEMORY, memoryStats, throttlingStats, UNIFIED_MEMORY } from './stat-counters.ts';
import { type InspectedLayer, layerOf } from './writable-layer.ts';

/** How many containers are measured at once. */
const PARALLEL = 4;
/** The engine answers a request for numbers at once, or is not well. */
const REQUEST_MS = 5000;

/** The parts of the engine's statistics that are used. */
interface EngineStats {
  readonly cpu_stats?: {
    readonly cpu_usage?: { readonly total_usage?: number };
    readonly throttling_data?: {
      readonly periods?: number;
      readonly throttled_periods?: number;
      readonly throttled_time?: number;
    };
  };
  readonly pids_stats?: { readonly current?: number };
  readonly memory_stats?: { readonly usage?: number; readonly stats?: Readonly<Record<string, number>> };
}

/** The parts of a container's inspection that are used here. */
interface InspectedStorage extends InspectedLayer {
  readonly SizeRw?: number;
  readonly LogPath?: string;
}

/** Numbers from control groups; where these are not found, from the engine, one request for each container. */
export function dockerStats(calls: EngineCalls, groups: GroupReader, clock: Clock): StatsRuntime {
  return {
    findFolders: (ids, signal) => ofEach(ids, (id) => inspect(id, 'folders', calls, signal)),
    // One after the other: each makes the engine read a part of the disk.
    readStorage: (ids, signal) => ofEach(ids, (id) => inspect(id, 'sizes', calls, signal)),
    readNetworks: (ids, signal) => ofEach(ids, (id) => readNetwork(id, groups, signal)),
    readDeviceIo: (ids, signal) =>
      ofEach(ids, async (id) => {
        signal.throwIfAborted();
        return await groups.readDeviceIo(id);
      }),
    readStats: async (ids, signal) => {
      const found = new Map<string, ContainerStats>();
      for (let start = 0; start < ids.length; start += PARALLEL) {
        signal.throwIfAborted();
        await Promise.all(
          ids.slice(start, start + PARALLEL).map(async (id) => {
            const at = clock.now();
            const stats = await readOne(id, calls, groups, signal);
            if (stats !== undefined) found.set(id, { at, ...stats });
          }),
        );
      }
      return found;
    },
  };
}

/** Those of the ids for which something is found. */
async function ofEach<T>(
  ids: readonly string[],
  read: (id: string) => Promise<T | undefined>,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>();
  for (const id of ids) {
    const one = await read(id);
    if (one !== undefined) found.set(id, one);
  }
  return found;
}

async function inspect(
  id: string,
  what: 'folders' | 'sizes',
  calls: EngineCalls,
  signal: AbortSignal,
): Promise<ContainerStorage | undefined> {
  try {
    const query = what === 'sizes' ? { size: true } : {};
    const inspected = (await calls.read(signal, (docker, abort) =>
      getJson(docker, { path: `/containers/${id}/json`, query, abort }),
    )) as InspectedStorage;
    const { SizeRw: writableBytes = 0, LogPath: logPath = '' } = inspected;
    const layerFolder = await layerOf(inspected);
    return { writableBytes, layerFolder, logFolder: logPath === '' ? undefined : dirname(logPath) };
  } catch (error) {
    if (describeDockerError(error).status === 404) return undefined;
    throw fromDocker(error, 'Runtime');
  }
}

async function readNetwork(
  id: string,
  groups: GroupReader,
  signal: AbortSignal,
): Promise<readonly InterfaceStats[] | undefined> {
  signal.throwIfAborted();
  return await sandboxNetwork(id, groups);
}

async function readOne(
  id: string,
  calls: EngineCalls,
  groups: GroupReader,
  signal: AbortSignal,
): Promise<GroupStats | undefined> {
  const reading = await groups.read(id);
  if (reading === 'gone') return undefined;
  return reading === 'unknown' ? await askEngine(id, calls, signal) : reading;
}

async function askEngine(id: string, calls: EngineCalls, signal: AbortSignal): Promise<GroupStats | undefined> {
  try {
    const query = { stream: false, 'one-shot': true };
    const stats = (await calls.read(
      signal,
      (docker, abort) => getJson(docker, { path: `/containers/${id}/stats`, query, abort }),
      REQUEST_MS,
    )) as EngineStats;
    const used = stats.memory_stats?.usage;
    const cpuNanos = stats.cpu_stats?.cpu_usage?.total_usage;
    // A container that does not run has no numbers.
    if (used === undefined || cpuNanos === undefined) return undefined;
    const counters = stats.memory_stats?.stats ?? {};
    const { total_inactive_file: legacy, inactive_file: unified } = counters;
    const names = legacy === undefined ? UNIFIED_MEMORY : LEGACY_MEMORY;
    const { periods, throttled_periods, throttled_time } = stats.cpu_stats?.throttling_data ?? {};
    const processes = stats.pids_stats?.current;
    return {
      cpuNanos,
      memoryBytes: Math.max(0, used - (legacy ?? unified ?? 0)),
      memoryUsageBytes: used,
      ...memoryStats(names, (name) => counters[name]),
      ...throttlingStats(periods, throttled_periods, throttled_time),
      ...(processes === undefined ? {} : { processes }),
    };
  } catch (error) {
    if (describeDockerError(error).status === 404) return undefined;
    throw fromDocker(error, 'Runtime');
  }
}
