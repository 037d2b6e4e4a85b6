import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ContainerStats, DeviceIo } from '../runtime/stats.ts';
import { ENGINE_GROUP, POD_GROUP } from './options/pod-group-name.ts';
import {
  LEGACY_MEMORY,
  type MemoryCounters,
  memoryStats,
  throttlingStats,
  UNIFIED_MEMORY,
  legacyDeviceIo,
  unifiedDeviceIo,
} from './stat-counters.ts';

/** The statistics of a container's control group. */
export type GroupStats = Omit<ContainerStats, 'at'>;

/**
 * `gone`: the container has no control group. `unknown`: no container's control group was found so far, so the engine may keep them
 * elsewhere.
 */
export type GroupReading = GroupStats | 'gone' | 'unknown';

/** Reads the statistics of containers' control groups from files. */
export interface GroupReader {
  /** Never fails. */
  read(id: string): Promise<GroupReading>;
  /** Undefined when the host does not count I/O, or when the container's group is not found. Never fails. */
  readDeviceIo(id: string): Promise<readonly DeviceIo[] | undefined>;
  /** The ids of a container's processes in this process's namespace; empty when its group is not found. Never fails. */
  processesOf(id: string): Promise<readonly number[]>;
  /** Whether the folder has control groups at all. */
  hasGroups(): Promise<boolean>;
}

/**
 * The folders of containers' groups: with the engine option `--exec-opt native.cgroupdriver=cgroupfs`, and with `systemd`. With the first
 * one, some containers are in groups of pods instead.
 */
const FOLDERS: readonly ((id: string) => string)[] = [
  (id) => join(ENGINE_GROUP, id),
  (id) => join('system.slice', `docker-${id}.scope`),
];
/** Files in the root of a hierarchy, for version 2 and version 1. */
const ROOT_FILES = ['cgroup.controllers', 'memory/tasks'];
const ID = /^[0-9a-f]{64}$/;

/** Access to a container's group in one cgroup version; `folder` is the group's path. */
interface Version {
  readonly read: (root: string, folder: string) => Promise<GroupStats>;
  readonly deviceIo: (root: string, folder: string) => Promise<readonly DeviceIo[]>;
  readonly processes: (root: string, folder: string) => string;
  /** The folder with the engine's groups, which also contains the groups of pods. */
  readonly engineGroup: string;
}

const VERSIONS: readonly Version[] = [
  {
    read: readUnified,
    deviceIo: async (root, folder) => unifiedDeviceIo(await readFile(join(root, folder, 'io.stat'), 'utf8')),
    processes: (root, folder) => join(root, folder, 'cgroup.procs'),
    engineGroup: ENGINE_GROUP,
  },
  {
    read: readLegacy,
    deviceIo: async (root, folder) => {
      const file = (name: string) => readFile(join(root, 'blkio', folder, `blkio.throttle.${name}`), 'utf8');
      return legacyDeviceIo(await file('io_service_bytes'), await file('io_serviced'));
    },
    processes: (root, folder) => join(root, 'cpuacct', folder, 'cgroup.procs'),
    engineGroup: join('cpuacct', ENGINE_GROUP),
  },
];

/**
 * Reads groups below `root`, the engine's `/sys/fs/cgroup`, of either version. All groups are expected at the place where the first one
 * was found.
 */
export function groupReader(root: string): GroupReader {
  const places = VERSIONS.flatMap((version) => FOLDERS.map((folder) => ({ ...version, folder })));
  let known: (typeof places)[number] | undefined;
  /** Folders of containers in groups of pods, by container id. */
  const inPods = new Map<string, string>();
  /** Removes ended containers from `inPods` whenever one is added, because nobody asks for an ended container again. */
  const forgetEnded = async (place: Version) => {
    for (const [id, folder] of inPods) {
      const isThere = await attempt(access(dirname(place.processes(root, folder))).then(() => true));
      if (isThere !== true) inPods.delete(id);
    }
  };
  /** Reads from the first place where the container is found. */
  const find = async <T>(
    id: string,
    readIn: (place: (typeof places)[number], folder: string) => Promise<T>,
  ): Promise<T | undefined> => {
    if (!ID.test(id)) return undefined;
    for (const place of known === undefined ? places : [known]) {
      const found = await attempt(readIn(place, inPods.get(id) ?? place.folder(id)));
      if (found !== undefined) {
        known = place;
        return found;
      }
      inPods.delete(id);
      for (const folder of await foldersInPods(root, place, id)) {
        const inPod = await attempt(readIn(place, folder));
        if (inPod === undefined) continue;
        known = place;
        await forgetEnded(place);
        inPods.set(id, folder);
        return inPod;
      }
    }
    return undefined;
  };
  return {
    read: async (id) => {
      const stats = await find(id, (place, folder) => place.read(root, folder));
      if (stats !== undefined) return stats;
      return known === undefined && ID.test(id) ? 'unknown' : 'gone';
    },
    readDeviceIo: (id) => find(id, ({ deviceIo }, folder) => deviceIo(root, folder)),
    processesOf: async (id) => {
      const text = await find(id, ({ processes }, folder) => readFile(processes(root, folder), 'utf8'));
      return (text ?? '').split('\n').flatMap((line) => (line === '' ? [] : [Number(line)]));
    },
    hasGroups: async () => {
      const found = await Promise.all(ROOT_FILES.map((name) => attempt(access(join(root, name)).then(() => name))));
      return found.some((name) => name !== undefined);
    },
  };
}

/** Possible folders of a container in groups of pods. */
async function foldersInPods(root: string, { engineGroup }: Version, id: string): Promise<readonly string[]> {
  const names = (await attempt(readdir(join(root, engineGroup)))) ?? [];
  return names.flatMap((name) => (POD_GROUP.test(name) ? [join(ENGINE_GROUP, name, id)] : []));
}

/** Undefined when the group does not exist. It can disappear with its container between two reads. */
async function attempt<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof FormatError || 'code' in (error as object)) return undefined;
    throw error;
  }
}

/** Version 2: one folder for all controllers. */
async function readUnified(root: string, folder: string): Promise<GroupStats> {
  const file = (name: string) => readFile(join(root, folder, name), 'utf8');
  const cpu = countersIn(await file('cpu.stat'));
  const used = wholeNumber(await file('memory.current'));
  const memory = countersIn(await file('memory.stat'));
  return {
    cpuNanos: required(cpu, 'usage_usec') * 1000,
    ...memoryOf(used, memory, 'inactive_file', UNIFIED_MEMORY),
    ...throttlingStats(cpu.get('nr_periods'), cpu.get('nr_throttled'), (cpu.get('throttled_usec') ?? 0) * 1000),
    ...(await processesIn(file('pids.current'))),
  };
}

/** Version 1: one folder per controller. */
async function readLegacy(root: string, folder: string): Promise<GroupStats> {
  const file = (controller: string, name: string) => readFile(join(root, controller, folder, name), 'utf8');
  const cpu = wholeNumber(await file('cpuacct', 'cpuacct.usage'));
  const used = wholeNumber(await file('memory', 'memory.usage_in_bytes'));
  const memory = countersIn(await file('memory', 'memory.stat'));
  const limited = countersIn((await attempt(file('cpu', 'cpu.stat'))) ?? '');
  return {
    cpuNanos: cpu,
    ...memoryOf(used, memory, 'total_inactive_file', LEGACY_MEMORY),
    ...throttlingStats(limited.get('nr_periods'), limited.get('nr_throttled'), limited.get('throttled_time')),
    ...(await processesIn(file('pids', 'pids.current'))),
  };
}

type Counters = ReadonlyMap<string, number>;

function memoryOf(
  usageBytes: number,
  counters: Counters,
  inactiveFiles: string,
  names: MemoryCounters,
): Pick<GroupStats, 'memoryBytes' | 'memoryUsageBytes' | 'memory'> {
  const memoryBytes = Math.max(0, usageBytes - required(counters, inactiveFiles));
  return { memoryBytes, memoryUsageBytes: usageBytes, ...memoryStats(names, (name) => counters.get(name)) };
}

/** Absent where the host does not count processes. */
async function processesIn(reading: Promise<string>): Promise<Pick<GroupStats, 'processes'>> {
  const processes = await attempt(reading.then(wholeNumber));
  return processes === undefined ? {} : { processes };
}

/** Thrown when a file of a group does not have the kernel's format. */
class FormatError extends Error {
  override readonly name = 'FormatError';
}

/** Parses lines with a name and a number. */
function countersIn(text: string): Counters {
  return new Map([...text.matchAll(/^(\w+) (\d+)$/gm)].map(([, name = '', value]) => [name, Number(value)]));
}

function required(counters: Counters, name: string): number {
  const found = counters.get(name);
  if (found === undefined) throw new FormatError(`no ${name}`);
  return found;
}

function wholeNumber(text: string): number {
  const found = text.trim();
  if (!/^\d+$/.test(found)) throw new FormatError(`${found.slice(0, 40)} is no number`);
  return Number(found);
}
