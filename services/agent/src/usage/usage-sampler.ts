import { type Clock, ControlLoop, errorMessage, type Instant } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { PodState } from '../runtime/observer.ts';
import type { StatsRuntime, ContainerStats } from '../runtime/stats.ts';

/** What each running container of a pod uses. */
export interface PodUsage {
  readonly uid: string;
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

/** A pod of which containers run, with what they use; absent before it is measured. */
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
  /** The agent's own container, which counts for its node; undefined outside one. */
  readonly own: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As often as cAdvisor in the kubelet. */
const EVERY_MS = 10_000;

/**
 * Measures the running containers of this node at intervals, all in one loop. Workers report which containers these are when they
 * change: nothing is listed for a sample.
 */
export class UsageSampler {
  readonly #options: UsageSamplerOptions;
  /** By pod, the ids and names of its running containers. */
  readonly #pods = new Map<string, ReadonlyMap<string, string>>();
  readonly #samples = new Map<string, Samples>();

  constructor(options: UsageSamplerOptions) {
    this.#options = options;
    if (options.own !== undefined) this.#samples.set(options.own, { startedAt: undefined });
  }

  /** Takes what exists of a pod now; undefined when nothing does. */
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

  /** Pods of which each running container has been measured over a window. */
  pods(): readonly PodUsage[] {
    return [...this.#pods].flatMap(([uid, names]) => {
      const containers = [...names].flatMap(([id, name]) => {
        const usage = this.#usage(id);
        return usage === undefined ? [] : [{ name, usage }];
      });
      return containers.length < names.size ? [] : [{ uid, containers }];
    });
  }

  /** Every pod of which something runs, by the latest sample. */
  running(): readonly RunningPod[] {
    return [...this.#pods].map(([uid, names]) => ({
      uid,
      containers: [...names].map(([id, name]) => {
        const { memoryBytes, processes } = this.#samples.get(id)?.last ?? {};
        return { name, memoryBytes, processes };
      }),
    }));
  }

  /** What all containers of this node use; undefined before it is known of any. */
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
      // It may have ended meanwhile.
      if (samples !== undefined) this.#samples.set(id, sampled(samples, stats));
    }
  }
}

/** What was used on average over a window, and the memory at its end. */
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

/** A rate over less than this is noise. */
const MIN_WINDOW_MS = 5000;

/** The samples with a newer one; one that goes back begins anew. */
function sampled({ startedAt, last }: Samples, next: ContainerStats): Samples {
  const follows = last !== undefined && next.at > last.at && next.cpuNanos >= last.cpuNanos;
  return { startedAt, last: next, ...(follows ? { before: last } : {}) };
}

/** The usage between the last two samples; after the first one, since the start of the container, which has used nothing before. */
function usageOf({ startedAt, last, before }: Samples): Usage | undefined {
  if (last === undefined) return undefined;
  const from = before ?? (startedAt === undefined ? undefined : { at: startedAt, cpuNanos: 0 });
  if (from === undefined) return undefined;
  const windowMs = last.at - from.at;
  if (windowMs < MIN_WINDOW_MS) return undefined;
  const cpuNanoCores = Math.round(((last.cpuNanos - from.cpuNanos) * 1000) / windowMs);
  return { at: last.at, windowMs, cpuNanoCores, memoryBytes: last.memoryBytes };
}

/** The sum of usages: over the longest window, at the earliest end; undefined for none. */
export function totalUsage(usages: readonly Usage[]): Usage | undefined {
  if (usages.length === 0) return undefined;
  return usages.reduce((sum, { at, windowMs, cpuNanoCores, memoryBytes }) => ({
    at: Math.min(sum.at, at),
    windowMs: Math.max(sum.windowMs, windowMs),
    cpuNanoCores: sum.cpuNanoCores + cpuNanoCores,
    memoryBytes: sum.memoryBytes + memoryBytes,
  }));
}
