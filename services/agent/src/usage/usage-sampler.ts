import { type Clock, ControlLoop, errorMessage, type Instant } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { PodState } from '../runtime/observer.ts';
import type { StatsRuntime, ContainerStats } from '../runtime/stats.ts';

/** The usage of each running container of a pod. */
export interface PodUsage {
  readonly uid: string;
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

/** A pod with running containers and their usage; absent fields have not been measured yet. */
export interface RunningPod {
  readonly uid: string;
  readonly containers: readonly {
    readonly name: string;
    readonly memoryBytes?: number;
    readonly processes?: number;
  }[];
}

export interface UsageSamplerOptions {
  readonly stats: Pick<StatsRuntime, 'readStats'>;
  /** The agent's own container, which counts towards its node; undefined outside of a container. */
  readonly own: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The interval of the kubelet's cAdvisor. */
const EVERY_MS = 10_000;

/**
 * Measures the running containers of this node at intervals, all in one loop. Workers report changes of the running containers, so a
 * sample needs no list.
 */
export class UsageSampler {
  readonly #options: UsageSamplerOptions;
  /** By pod uid: the ids and names of its running containers. */
  readonly #pods = new Map<string, ReadonlyMap<string, string>>();
  readonly #samples = new Map<string, Samples>();

  constructor(options: UsageSamplerOptions) {
    this.#options = options;
    if (options.own !== undefined) this.#samples.set(options.own, { startedAt: undefined });
  }

  /** Records the existing containers of a pod; undefined when there are none. */
  observe(uid: string, state: PodState | undefined): void {
    const running = (state?.containers ?? []).filter((container) => container.state === 'running');
    const before = this.#pods.get(uid);
    for (const id of before?.keys() ?? []) {
      if (!running.some((container) => container.id === id)) this.#samples.delete(id);
    }
    for (const { id, startedAt } of running) if (!this.#samples.has(id)) this.#samples.set(id, { startedAt });
    if (running.length === 0) this.#pods.delete(uid);
    else this.#pods.set(uid, new Map(running.map(({ id, name }) => [id, name])));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    await new ControlLoop({
      round: () => this.#sample(signal),
      intervalMs: EVERY_MS,
      onError: (error) => logger.warn({ reason: errorMessage(error) }, 'cannot measure containers'),
      clock,
    }).run(signal);
  }

  /** Pods whose running containers have all been measured over a window. */
  pods(): readonly PodUsage[] {
    return [...this.#pods].flatMap(([uid, names]) => {
      const containers = [...names].flatMap(([id, name]) => {
        const usage = this.#usage(id);
        return usage === undefined ? [] : [{ name, usage }];
      });
      return containers.length < names.size ? [] : [{ uid, containers }];
    });
  }

  /** Every pod with running containers, by the latest sample. */
  running(): readonly RunningPod[] {
    return [...this.#pods].map(([uid, names]) => ({
      uid,
      containers: [...names].map(([id, name]) => {
        const { memoryBytes, processes } = this.#samples.get(id)?.last ?? {};
        return { name, memoryBytes, processes };
      }),
    }));
  }

  /** The usage of all containers of this node; undefined before any is known. */
  node(): Usage | undefined {
    return totalUsage([...this.#samples.values()].flatMap((samples) => usageOf(samples) ?? []));
  }

  #usage(id: string): Usage | undefined {
    const samples = this.#samples.get(id);
    return samples === undefined ? undefined : usageOf(samples);
  }

  async #sample(signal: AbortSignal): Promise<void> {
    const found = await this.#options.stats.readStats([...this.#samples.keys()], signal);
    for (const [id, stats] of found) {
      const samples = this.#samples.get(id);
      // The container may have ended meanwhile.
      if (samples !== undefined) this.#samples.set(id, sampled(samples, stats));
    }
  }
}

/** The average CPU usage over a window, and the memory at its end. */
export interface Usage {
  readonly at: Instant;
  readonly windowMs: number;
  /** Billionths of a core. */
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

/** The last two samples of a container. */
interface Samples {
  readonly startedAt: Instant | undefined;
  readonly last?: ContainerStats;
  readonly before?: ContainerStats;
}

/** Rates over shorter windows are too inaccurate. */
const MIN_WINDOW_MS = 5000;

/** Adds a newer sample. If its counter has decreased, sampling starts again. */
function sampled({ startedAt, last }: Samples, next: ContainerStats): Samples {
  const follows = last !== undefined && next.at > last.at && next.cpuNanos >= last.cpuNanos;
  return { startedAt, last: next, ...(follows ? { before: last } : {}) };
}

/**
 * The usage between the last two samples. After the first sample, the window begins at the container's start, when nothing had been used.
 */
function usageOf({ startedAt, last, before }: Samples): Usage | undefined {
  if (last === undefined) return undefined;
  const from = before ?? (startedAt === undefined ? undefined : { at: startedAt, cpuNanos: 0 });
  if (from === undefined) return undefined;
  const windowMs = last.at - from.at;
  if (windowMs < MIN_WINDOW_MS) return undefined;
  const cpuNanoCores = Math.round(((last.cpuNanos - from.cpuNanos) * 1000) / windowMs);
  return { at: last.at, windowMs, cpuNanoCores, memoryBytes: last.memoryBytes };
}

/** The sum of usages, with the longest window and the earliest end; undefined without usages. */
export function totalUsage(usages: readonly Usage[]): Usage | undefined {
  if (usages.length === 0) return undefined;
  return usages.reduce((sum, { at, windowMs, cpuNanoCores, memoryBytes }) => ({
    at: Math.min(sum.at, at),
    windowMs: Math.max(sum.windowMs, windowMs),
    cpuNanoCores: sum.cpuNanoCores + cpuNanoCores,
    memoryBytes: sum.memoryBytes + memoryBytes,
  }));
}
