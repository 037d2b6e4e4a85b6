import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerStats } from '../runtime/stats.ts';

/** What control groups say of a container. */
export type GroupStats = Omit<ContainerStats, 'at'>;

/** `unknown` where no control group of any container has been found yet: the engine may keep them elsewhere. */
export type GroupReading = GroupStats | 'gone' | 'unknown';

/** Reads the control groups of containers from files. */
export interface GroupReader {
  /** Never fails. */
  read(id: string): Promise<GroupReading>;
  /** Whether the folder has control groups at all. */
  hasGroups(): Promise<boolean>;
}

/** Where engines put a container's group: with `--exec-opt native.cgroupdriver=cgroupfs`, and with `systemd`. */
const FOLDERS: readonly ((id: string) => string)[] = [
  (id) => join('docker', id),
  (id) => join('system.slice', `docker-${id}.scope`),
];
/** What the root of a hierarchy has, in the two versions. */
const ROOT_FILES = ['cgroup.controllers', 'memory/tasks'];
const ID = /^[0-9a-f]{64}$/;

/** The files of one container's group, under the folder of all groups. */
type ReadGroup = (root: string, folder: string) => Promise<GroupStats>;

const VERSIONS: readonly ReadGroup[] = [readUnified, readLegacy];

/** Groups below `root`, the engine's `/sys/fs/cgroup`, of either version. The first that is found tells where all are. */
export function groupReader(root: string): GroupReader {
  const places = VERSIONS.flatMap((read) => FOLDERS.map((folder) => ({ read, folder })));
  let known: (typeof places)[number] | undefined;
  return {
    read: async (id) => {
      if (!ID.test(id)) return 'gone';
      for (const place of known === undefined ? places : [known]) {
        const stats = await attempt(place.read(root, place.folder(id)));
        if (stats === undefined) continue;
        known = place;
        return stats;
      }
      return known === undefined ? 'unknown' : 'gone';
    },
    hasGroups: async () => {
      const found = await Promise.all(ROOT_FILES.map((name) => attempt(access(join(root, name)).then(() => name))));
      return found.some((name) => name !== undefined);
    },
  };
}

/** A group ends with its container, between two of its files too. */
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
  const cpu = numberIn(await file('cpu.stat'), 'usage_usec') * 1000;
  const used = wholeNumber(await file('memory.current'));
  const inactive = numberIn(await file('memory.stat'), 'inactive_file');
  return { cpuNanos: cpu, memoryBytes: Math.max(0, used - inactive), ...(await processesIn(file('pids.current'))) };
}

/** Version 1: a folder for each controller. */
async function readLegacy(root: string, folder: string): Promise<GroupStats> {
  const file = (controller: string, name: string) => readFile(join(root, controller, folder, name), 'utf8');
  const cpu = wholeNumber(await file('cpuacct', 'cpuacct.usage'));
  const used = wholeNumber(await file('memory', 'memory.usage_in_bytes'));
  const inactive = numberIn(await file('memory', 'memory.stat'), 'total_inactive_file');
  const processes = await processesIn(file('pids', 'pids.current'));
  return { cpuNanos: cpu, memoryBytes: Math.max(0, used - inactive), ...processes };
}

/** The host may not count them. */
async function processesIn(reading: Promise<string>): Promise<Pick<GroupStats, 'processes'>> {
  const processes = await attempt(reading.then(wholeNumber));
  return processes === undefined ? {} : { processes };
}

/** A file of a group that is not as the kernel writes it. */
class FormatError extends Error {
  override readonly name = 'FormatError';
}

function numberIn(text: string, name: string): number {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
  if (found === undefined) throw new FormatError(`no ${name}`);
  return Number(found);
}

function wholeNumber(text: string): number {
  const found = text.trim();
  if (!/^\d+$/.test(found)) throw new FormatError(`${found.slice(0, 40)} is no number`);
  return Number(found);
}
