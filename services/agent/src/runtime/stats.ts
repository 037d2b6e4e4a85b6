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

/** The host's folders with what a container has written. */
export interface ContainerFolders {
  /** Its writable layer; undefined where the engine does not say. */
  readonly layerFolder: string | undefined;
  /** Its log files; undefined without any. */
  readonly logFolder: string | undefined;
}

/** What a container has written to the host's disk. */
export interface ContainerStorage extends ContainerFolders {
  /** The size of its writable layer. */
  readonly writableBytes: number;
}

/** Measures containers. */
export interface StatsRuntime {
  /** By id, of those that run; others are left out. */
  readStats(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStats>>;
  /** By id, of those that exist, running or not; others are left out. */
  findFolders(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerFolders>>;
  /** The same with sizes: the engine reads the disk for it. */
  readStorage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStorage>>;
}
