import type { Instant } from '@gantry/base';
import type { ContainerStats } from '../runtime/stats.ts';

/** What was used on average over a window, and the memory at its end. */
export interface Usage {
  readonly at: Instant;
  readonly windowMs: number;
  /** Billionths of a core. */
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

/** The last two samples of a container. */
export interface Samples {
  readonly startedAt: Instant | undefined;
  readonly last?: ContainerStats;
  readonly before?: ContainerStats;
}

/** A rate over less than this is noise. */
const MIN_WINDOW_MS = 5000;

/** The samples with a newer one; one that goes back begins anew. */
export function sampled({ startedAt, last }: Samples, next: ContainerStats): Samples {
  const follows = last !== undefined && next.at > last.at && next.cpuNanos >= last.cpuNanos;
  return { startedAt, last: next, ...(follows ? { before: last } : {}) };
}

/** The usage between the last two samples; after the first one, since the start of the container, which has used nothing before. */
export function usageOf({ startedAt, last, before }: Samples): Usage | undefined {
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
