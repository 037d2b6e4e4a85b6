import { dirname } from 'node:path';
import type { Clock } from '@gantry/base';
import type { ContainerStats, ContainerStorage, InterfaceStats, StatsRuntime } from '../runtime/stats.ts';
import type { GroupReader, GroupStats } from './cgroup-stats.ts';
import { getJson } from './dial.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { LEGACY_MEMORY, memoryStats, throttlingStats, UNIFIED_MEMORY } from './stat-counters.ts';
import { PROCESS_ENDED, readIfThere } from '../files/if-there.ts';
import { parseNetworkDevices } from '../files/network-devices.ts';

/** The number of containers that are measured in parallel. */
const PARALLEL = 4;
/** A healthy engine responds to a request for statistics immediately. */
const REQUEST_MS = 5000;

/** The used parts of the engine's statistics. */
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

/** The used parts of a container's inspection. */
interface InspectedStorage extends InspectedLayer {
  readonly SizeRw?: number;
  readonly LogPath?: string;
}

/** Statistics from control groups; where they are not found, from the engine, with one request per container. */
export function dockerStats(calls: EngineCalls, groups: GroupReader, clock: Clock): StatsRuntime {
  return {
    findFolders: (ids, signal) => ofEach(ids, (id) => inspect(id, 'folders', calls, signal)),
    // One after the other, because each request makes the engine read a part of the disk.
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

/** Reads for each id, and omits ids without a result. */
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
    // A container that does not run has no statistics.
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
      processes,
    };
  } catch (error) {
    if (describeDockerError(error).status === 404) return undefined;
    throw fromDocker(error, 'Runtime');
  }
}

/** The interfaces of a sandbox's network; undefined when its process is not found. Does not ask the engine. */
export async function sandboxNetwork(
  id: string,
  groups: Pick<GroupReader, 'processesOf'>,
): Promise<readonly InterfaceStats[] | undefined> {
  const [pid] = await groups.processesOf(id);
  if (pid === undefined) return undefined;
  const text = await readIfThere(`/proc/${pid}/net/dev`, PROCESS_ENDED);
  if (text === undefined) return undefined;
  // Another process may have got the process id in the meantime.
  const isSame = (await groups.processesOf(id)).includes(pid);
  return isSame ? parseNetworkDevices(text) : undefined;
}

/** The parts of a container's inspection that lead to its writable layer. */
interface InspectedLayer {
  readonly GraphDriver?: { readonly Data?: Readonly<Record<string, string>> | null } | null;
  readonly State?: { readonly Pid?: number };
}

/**
 * The host's folder with the files that a container has written: the upper folder of its overlay. The engine names it, except for images
 * in containerd's store; then it comes from the mounts of the running container's process. Undefined when neither is known.
 */
export async function layerOf({ GraphDriver: driver, State: state }: InspectedLayer): Promise<string | undefined> {
  const named = driver?.Data?.['UpperDir'];
  if (named !== undefined) return named;
  const { Pid: pid = 0 } = state ?? {};
  if (pid === 0) return undefined;
  return upperFolder((await readIfThere(`/proc/${pid}/mountinfo`, PROCESS_ENDED)) ?? '');
}

/** The upper folder of the root overlay in the format of proc_pid_mountinfo(5). Undefined for a root that is not an overlay. */
export function upperFolder(mountInfo: string): string | undefined {
  for (const line of mountInfo.split('\n')) {
    const [mount = '', rest = ''] = line.split(' - ');
    const [kind, , options = ''] = rest.split(' ');
    if (mount.split(' ')[4] !== '/' || kind !== 'overlay') continue;
    const upper = options.split(',').find((option) => option.startsWith('upperdir='));
    const path = upper?.slice('upperdir='.length);
    // A relative path refers to a folder that only the engine knows.
    return path?.startsWith('/') === true ? path : undefined;
  }
  return undefined;
}
