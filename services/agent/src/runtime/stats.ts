import type { Instant } from '@gantry/base';

/** What a container has used. */
export interface ContainerStats {
  readonly at: Instant;
  /** CPU time since its start, in billionths of a second. */
  readonly cpuNanos: number;
  /** Its working set: memory in use without files that have not been read lately. */
  readonly memoryBytes: number;
  /** Its processes and threads; absent where the host does not count them. */
  readonly processes?: number;
}

/** What a container has written to the host's disk. */
export interface ContainerStorage {
  /** Its writable layer. */
  readonly writableBytes: number;
  /** The host's folder with its log files; undefined without one. */
  readonly logFolder: string | undefined;
}

/** Measures containers. */
export interface StatsRuntime {
  /** By id, of those that run; others are left out. */
  readStats(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStats>>;
  /** By id, of those that exist, running or not; others are left out. The engine reads the disk for it. */
  readStorage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStorage>>;
}
