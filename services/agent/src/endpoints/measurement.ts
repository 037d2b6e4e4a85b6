import type { Instant } from '@gantry/base';
import type { ContainerState } from '../runtime/containers.ts';
import type { Owner, PodIdentity } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { ContainerStats } from '../runtime/stats.ts';

/** A container that runs, and what it has used. */
export interface MeasuredContainer {
  readonly state: ContainerState;
  readonly stats: ContainerStats;
}

/** What runs of a pod. */
export interface MeasuredPod {
  readonly identity: PodIdentity;
  readonly startedAt: Instant | undefined;
  readonly containers: readonly MeasuredContainer[];
}

/** What runs on a node at one time. */
export interface Measurement {
  readonly at: Instant;
  readonly pods: readonly MeasuredPod[];
  /** Of the pods and of the agent. CPU time only grows, also when containers end. */
  readonly node: { readonly cpuNanos: number; readonly memoryBytes: number };
}

/** Measures what runs on a node. */
export class NodeMeter {
  readonly #runtime: Runtime;
  readonly #owner: Owner;
  /** The agent's own container. */
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
    this.#count(stats);
    let memoryBytes = 0;
    for (const one of stats.values()) memoryBytes += one.memoryBytes;
    return {
      at: now,
      pods: pods.map(({ identity, sandboxes, containers }) => ({
        identity,
        startedAt: sandboxes[0]?.createdAt,
        containers: containers.flatMap((state) => {
          const found = state.state === 'running' ? stats.get(state.id) : undefined;
          return found === undefined ? [] : [{ state, stats: found }];
        }),
      })),
      node: { cpuNanos: this.#cpuNanos, memoryBytes },
    };
  }

  #count(stats: ReadonlyMap<string, ContainerStats>): void {
    for (const [id, { cpuNanos }] of stats) this.#cpuNanos += Math.max(0, cpuNanos - (this.#seen.get(id) ?? 0));
    this.#seen = new Map([...stats].map(([id, { cpuNanos }]) => [id, cpuNanos]));
  }
}
