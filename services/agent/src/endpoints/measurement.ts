import type { Instant } from '@gantry/base';
import type { ContainerState } from '../runtime/containers.ts';
import type { Owner, PodIdentity } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import type { ContainerStats, InterfaceStats, MemoryStats } from '../runtime/stats.ts';

/** A running container and its usage. */
export interface MeasuredContainer {
  readonly state: ContainerState;
  readonly stats: ContainerStats;
}

/** The running parts of a pod. */
export interface MeasuredPod {
  readonly identity: PodIdentity;
  readonly startedAt: Instant | undefined;
  readonly containers: readonly MeasuredContainer[];
  readonly sandbox: MeasuredSandbox | undefined;
}

/** The sandbox of a pod with its own network. */
export interface MeasuredSandbox {
  readonly id: string;
  readonly interfaces: readonly InterfaceStats[];
}

/** The usage of a node at one time. */
export interface Measurement {
  readonly at: Instant;
  readonly pods: readonly MeasuredPod[];
  /** The sum of all pods and the agent. The CPU time never decreases, even when containers end. */
  readonly node: Pick<ContainerStats, 'cpuNanos' | 'memoryBytes' | 'memoryUsageBytes'> & {
    readonly memory: MemoryStats | undefined;
  };
}

/** Measures the running containers of a node. */
export class NodeMeter {
  readonly #runtime: Runtime;
  readonly #owner: Owner;
  /** The id of the agent's own container. */
  readonly #own: string | undefined;
  #seen = new Map<string, number>();
  #cpuNanos = 0;

  constructor(runtime: Runtime, owner: Owner, own: string | undefined) {
    this.#runtime = runtime;
    this.#owner = owner;
    this.#own = own;
  }

  async measure(now: Instant, signal: AbortSignal): Promise<Measurement> {
    const pods = await this.#runtime.observer.listPods(this.#owner, signal);
    const running = pods.flatMap(({ containers }) => containers.filter(({ state }) => state === 'running'));
    const ids = [...running.map(({ id }) => id), ...(this.#own === undefined ? [] : [this.#own])];
    const stats = await this.#runtime.stats.readStats(ids, signal);
    const sandboxes = pods.flatMap(({ sandboxes: attempts }) => attempts.find(hasNetwork) ?? []);
    const networks = await this.#runtime.stats.readNetworks(
      sandboxes.map(({ id }) => id),
      signal,
    );
    this.#count(stats);
    const all = [...stats.values()];
    const memoryBytes = sum(all.map((one) => one.memoryBytes));
    const memoryUsageBytes = sum(all.map((one) => one.memoryUsageBytes));
    return {
      at: now,
      pods: pods.map(({ identity, sandboxes: attempts, containers }) => ({
        identity,
        startedAt: attempts[0]?.createdAt,
        sandbox: sandboxOf(attempts, networks),
        containers: containers.flatMap((state) => {
          const found = state.state === 'running' ? stats.get(state.id) : undefined;
          return found === undefined ? [] : [{ state, stats: found }];
        }),
      })),
      node: { cpuNanos: this.#cpuNanos, memoryBytes, memoryUsageBytes, memory: sumMemory(all) },
    };
  }

  #count(stats: ReadonlyMap<string, ContainerStats>): void {
    for (const [id, { cpuNanos }] of stats) this.#cpuNanos += Math.max(0, cpuNanos - (this.#seen.get(id) ?? 0));
    this.#seen = new Map([...stats].map(([id, { cpuNanos }]) => [id, cpuNanos]));
  }
}

/** Each container with its pod. */
export function containersOf({ pods }: Measurement): readonly (readonly [MeasuredPod, MeasuredContainer])[] {
  return pods.flatMap((pod) => pod.containers.map((one) => [pod, one] as const));
}

function hasNetwork({ state, address }: SandboxState): boolean {
  return state === 'running' && address !== '';
}

function sandboxOf(
  attempts: readonly SandboxState[],
  networks: ReadonlyMap<string, readonly InterfaceStats[]>,
): MeasuredSandbox | undefined {
  for (const { id } of attempts) {
    const interfaces = networks.get(id);
    if (interfaces !== undefined) return { id, interfaces };
  }
  return undefined;
}

/** The sum of memory statistics. Undefined without containers, or when statistics of a container are missing. */
export function sumMemory(containers: readonly Pick<ContainerStats, 'memory'>[]): MemoryStats | undefined {
  const known = containers.flatMap(({ memory }) => memory ?? []);
  if (known.length < containers.length || known.length === 0) return undefined;
  return {
    rssBytes: sum(known.map((one) => one.rssBytes)),
    cacheBytes: sum(known.map((one) => one.cacheBytes)),
    mappedFileBytes: sum(known.map((one) => one.mappedFileBytes)),
    pageFaults: sum(known.map((one) => one.pageFaults)),
    majorPageFaults: sum(known.map((one) => one.majorPageFaults)),
  };
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
