import { constants } from 'node:fs';
import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '@gantry/base';
import { isThere, namesIn, readIfThere } from '../files/if-there.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { Owner } from '../runtime/labels.ts';
import type { GroupedPod, PodGroupRuntime, PodGroupState, ResourceLimits } from '../runtime/pod-groups.ts';
import { ENGINE_GROUP, groupPrefix, isGroupUid, podGroup } from './options/pod-group-name.ts';

const PERIOD_MICROS = 100_000;
/** The largest page size in which a kernel counts memory. */
const PAGE_BYTES = 2 ** 16;
/** In version 1, an unlimited group shows the largest number of pages. */
const UNLIMITED_BYTES = 2 ** 62;
/** Shares from 2 to 262144 map to weights from 1 to 10000, as in the engine's runtime for containers. */
const SHARES_PER_WEIGHT = 262_142 / 9999;

/** The file with the limit of memory plus swap in version 1. */
const WITH_SWAP = 'memory.memsw.limit_in_bytes';
const TO_BE_SET = { swap: 'to-be-set' } as const;

/** Access to groups in one cgroup version. `group` is the path of a group below the root. */
interface Version {
  /** The folders of a group with limits, below the root. The folder of `mark` is created first. */
  readonly folders: (group: string) => readonly string[];
  /** Whether groups with limits are possible below the engine's group. */
  readonly canLimit: (root: string) => Promise<boolean>;
  /** The folder that shows whether the group exists. It is removed last. */
  readonly mark: (group: string) => string;
  /** The file with the memory usage, in the folder of `mark`. */
  readonly usage: string;
  readonly read: (root: string, group: string) => Promise<PodGroupState>;
  /** Writes limits in an order that the kernel accepts when one depends on another. */
  readonly write: (root: string, group: string, limits: ResourceLimits) => Promise<void>;
  /** All folders of a group, in the order of removal. */
  readonly all: (root: string, group: string) => Promise<readonly string[]>;
}

const LEGACY: Version = {
  folders: (group) => [join('memory', group), join('cpu', group)],
  canLimit: async () => true,
  mark: (group) => join('memory', group),
  usage: 'memory.usage_in_bytes',
  read: async (root, group) => {
    const number = async (...path: readonly string[]) => Number(await readFile(join(root, ...path), 'utf8'));
    const quota = await number('cpu', group, 'cpu.cfs_quota_us');
    const memory = await number('memory', group, 'memory.limit_in_bytes');
    const withSwap = Number((await readIfThere(join(root, 'memory', group, WITH_SWAP))) ?? memory);
    return {
      ...(memory < UNLIMITED_BYTES && withSwap > memory ? TO_BE_SET : {}),
      limits: {
        cpuShares: await number('cpu', group, 'cpu.shares'),
        ...(quota > 0 ? { cpuQuotaMicros: quota } : {}),
        ...(memory < UNLIMITED_BYTES ? { memoryBytes: memory } : {}),
      },
      precision: { cpuShares: 1, memoryBytes: PAGE_BYTES },
    };
  },
  write: async (root, group, { cpuShares, cpuQuotaMicros = -1, memoryBytes = -1 }) => {
    const cpu = (name: string, value: number) => write(join(root, 'cpu', group, name), value);
    const memory = (name: string, value: number) => write(join(root, 'memory', group, name), value);
    if (cpuShares !== undefined) await cpu('cpu.shares', cpuShares);
    await cpu('cpu.cfs_period_us', PERIOD_MICROS);
    await cpu('cpu.cfs_quota_us', cpuQuotaMicros);
    // Kernels before 5.11 include nested groups in the count only if this is set.
    if ((await readIfThere(join(root, 'memory', group, 'memory.use_hierarchy')))?.trim() === '0') {
      await memory('memory.use_hierarchy', 1);
    }
    const before = Number(await readFile(join(root, 'memory', group, 'memory.limit_in_bytes'), 'utf8'));
    // The limit of memory plus swap must never be below that of memory. The file is missing when the kernel does not count swap.
    const hasSwap = await isThere(join(root, 'memory', group, WITH_SWAP));
    const isMore = memoryBytes === -1 || memoryBytes > before;
    if (hasSwap && isMore) await memory(WITH_SWAP, memoryBytes);
    await memory('memory.limit_in_bytes', memoryBytes);
    if (hasSwap && !isMore) await memory(WITH_SWAP, memoryBytes);
  },
  all: async (root, group) => {
    const hierarchies = (await readdir(root)).filter((name) => name !== 'memory').toSorted();
    return [...hierarchies, 'memory'].map((name) => join(root, name, group));
  },
};

const UNIFIED: Version = {
  folders: (group) => [group],
  canLimit: async (root) => {
    const enabled = (await readIfThere(join(root, ENGINE_GROUP, 'cgroup.subtree_control')))?.split(/\s+/) ?? [];
    return enabled.includes('cpu') && enabled.includes('memory');
  },
  mark: (group) => group,
  usage: 'memory.current',
  read: async (root, group) => {
    const text = async (name: string) => (await readFile(join(root, group, name), 'utf8')).trim();
    const weight = Number(await text('cpu.weight'));
    const [quota = 'max'] = (await text('cpu.max')).split(' ');
    const memory = await text('memory.max');
    const swap = (await readIfThere(join(root, group, 'memory.swap.max')))?.trim();
    return {
      ...(swap === undefined || swap === swapFor(memory) ? {} : TO_BE_SET),
      limits: {
        cpuShares: Math.round(2 + (weight - 1) * SHARES_PER_WEIGHT),
        ...(quota === 'max' ? {} : { cpuQuotaMicros: Number(quota) }),
        ...(memory === 'max' ? {} : { memoryBytes: Number(memory) }),
      },
      precision: { cpuShares: Math.ceil(SHARES_PER_WEIGHT), memoryBytes: PAGE_BYTES },
    };
  },
  write: async (root, group, { cpuShares, cpuQuotaMicros = 'max', memoryBytes = 'max' }) => {
    const file = (name: string) => join(root, group, name);
    if (cpuShares !== undefined) {
      await write(file('cpu.weight'), 1 + Math.floor((cpuShares - 2) / SHARES_PER_WEIGHT));
    }
    await write(file('cpu.max'), `${cpuQuotaMicros} ${PERIOD_MICROS}`);
    await write(file('memory.max'), memoryBytes);
    if (await isThere(file('memory.swap.max'))) await write(file('memory.swap.max'), swapFor(memoryBytes));
  },
  all: async (root, group) => [join(root, group)],
};

/** The swap limit for a memory limit, in version 2. */
function swapFor(memory: number | string): string {
  return memory === 'max' ? 'max' : '0';
}

/** Error codes for a group that does not exist or is being removed, and for a group with processes. */
const ABSENT = ['ENOENT', 'ENOTDIR', 'ENODEV'];
const IN_USE = ['EBUSY', 'ENOTEMPTY'];

/** Control groups of pods as folders below `root`, the engine's `/sys/fs/cgroup`. */
export class PodGroups implements PodGroupRuntime {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Whether pods can have groups with an engine that uses this cgroup driver. */
  async support(driver: string): Promise<EngineInfo['podGroups']> {
    // Systemd owns the groups of its slices and reverts changes by others.
    if (driver !== 'cgroupfs') return 'driver';
    const version = await this.#version();
    if (version === undefined || !(await version.canLimit(this.#root))) return 'unreachable';
    const folders = version.folders(ENGINE_GROUP).map((folder) => join(this.#root, folder));
    return (await Promise.all(folders.map(isWritable))).every(Boolean) ? 'supported' : 'unreachable';
  }

  /** The state of a pod's group; undefined without a group. */
  async find(pod: GroupedPod): Promise<PodGroupState | undefined> {
    const version = await this.#version();
    try {
      return await version?.read(this.#root, podGroup(pod));
    } catch (error) {
      if (hasCode(error, ABSENT)) return undefined;
      throw error;
    }
  }

  /** Whether a container is in its pod's group. An engine on another host would put it elsewhere. */
  async holds(pod: GroupedPod, containerId: string): Promise<boolean> {
    const version = await this.#version();
    return version !== undefined && (await isThere(join(this.#root, version.mark(podGroup(pod)), containerId)));
  }

  async updatePodGroup(pod: GroupedPod, limits: ResourceLimits): Promise<void> {
    const group = podGroup(pod);
    const version = await this.#version();
    if (version === undefined) throw new AgentError('Runtime', `no control groups in ${this.#root}`);
    try {
      for (const folder of version.folders(group)) await makeFolder(join(this.#root, folder));
      await version.write(this.#root, group, limits);
    } catch (error) {
      throw new AgentError('Runtime', `the pod's control group was not set: ${errorMessage(error)}`, { cause: error });
    }
  }

  async readPodMemory(pod: GroupedPod): Promise<number | undefined> {
    const version = await this.#version();
    if (version === undefined) return undefined;
    const text = await readIfThere(join(this.#root, version.mark(podGroup(pod)), version.usage), ABSENT);
    return text === undefined ? undefined : Number(text);
  }

  async removePodGroup(pod: GroupedPod): Promise<boolean> {
    const version = await this.#version();
    if (version === undefined || !isGroupUid(pod.uid)) return true;
    // Almost all pods have no group.
    if (!(await isThere(join(this.#root, version.mark(podGroup(pod)))))) return true;
    for (const folder of await version.all(this.#root, podGroup(pod))) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (hasCode(error, IN_USE)) return false;
        if (!hasCode(error, ABSENT)) throw error;
      }
    }
    return true;
  }

  async listPodGroups(owner: Owner): Promise<readonly string[]> {
    const version = await this.#version();
    if (version === undefined) return [];
    const prefix = groupPrefix(owner);
    const names = await namesIn(join(this.#root, version.mark(ENGINE_GROUP)), ABSENT);
    return names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  }

  async #version(): Promise<Version | undefined> {
    if (await isThere(join(this.#root, 'cgroup.controllers'))) return UNIFIED;
    return (await isThere(join(this.#root, 'memory'))) ? LEGACY : undefined;
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (!hasCode(error, ['EEXIST'])) throw error;
  }
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK);
    return true;
  } catch {
    // Whatever the reason is, no group can be created there.
    return false;
  }
}

async function write(file: string, value: number | string): Promise<void> {
  await writeFile(file, String(value));
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
}
