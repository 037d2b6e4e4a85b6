import type { Instant } from '@gantry/base';

/** What a container has used. */
export interface ContainerStats {
  readonly at: Instant;
  /** CPU time since its start, in billionths of a second. */
  readonly cpuNanos: number;
  /** Its working set: memory in use without files that have not been read lately. */
  readonly memoryBytes: number;
}

/** Measures containers. */
export interface StatsRuntime {
  /** By id, of those that run; others are left out. */
  readStats(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStats>>;
}
