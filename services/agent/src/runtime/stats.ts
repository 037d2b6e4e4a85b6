import type { Instant } from '@gantry/base';

/** What a container has used. */
export interface ContainerStats {
  readonly at: Instant;
  /** CPU time since its start, in billionths of a second. */
  readonly cpuNanos: number;
  /** Its working set: memory in use without files that have not been read lately. */
  readonly memoryBytes: number;
  /** What counts towards its limit: memory in use with all files in it. */
  readonly memoryUsageBytes: number;
  /** Its processes and threads; absent where the host does not count them. */
  readonly processes?: number;
  /** Absent where the host says no more of its memory. */
  readonly memory?: MemoryStats;
  /** Absent without a limit on its CPU time. */
  readonly throttling?: ThrottlingStats;
}

/** What the memory in use is used for, in bytes, and how often the kernel had to get some. */
export interface MemoryStats {
  /** Not from files. */
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly pageFaults: number;
  /** Those that read a disk. */
  readonly majorPageFaults: number;
}

/** How often a container has used up the CPU time that it has in a period. */
export interface ThrottlingStats {
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNanos: number;
}

/** What has passed a network interface in one direction. */
export interface Traffic {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

/** What has passed a network interface since it was made. */
export interface InterfaceStats {
  readonly name: string;
  readonly received: Traffic;
  readonly sent: Traffic;
}

/** What a container has read from a device and written to it since its start. */
export interface DeviceIo {
  /** The kernel's number of the device: `major:minor`. */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
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
  /**
   * The interfaces of sandboxes with networks of their own, without the loopback. Those that do not run, and whose processes are out of reach,
   * are left out.
   */
  readNetworks(
    sandboxIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly InterfaceStats[]>>;
  /** By id, of those that run and whose control groups say it; others are left out. */
  readDeviceIo(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly DeviceIo[]>>;
  /** By id, of those that exist, running or not; others are left out. */
  findFolders(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerFolders>>;
  /** The same with sizes: the engine reads the disk for it. */
  readStorage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStorage>>;
}

/** What is left of the engine's host, and how much there is. */
export interface HostReading {
  /** `available`: all but the working set, which is memory in use without files that have not been read lately. */
  readonly memory: { readonly availableBytes: number; readonly capacityBytes: number };
  /** The file system of volumes, logs, writable layers and images. `capacity` of inodes is 0 where they are made on demand. */
  readonly disk: {
    readonly availableBytes: number;
    readonly capacityBytes: number;
    readonly freeInodes: number;
    readonly inodes: number;
  };
  /** Processes and threads. */
  readonly processes: { readonly available: number; readonly capacity: number };
}

/** The names of the host's devices. */
export interface HostDevices {
  /** Of disks and their parts, by the kernel's number `major:minor`. */
  readonly names: ReadonlyMap<string, string>;
  /** That with the file system of `HostReading.disk`. */
  readonly files: string;
}

/** Measures the engine's host; cheap. */
export interface HostMeter {
  read(): Promise<HostReading>;
  /** Its interfaces, without the loopback and those of containers. */
  readNetwork(): Promise<readonly InterfaceStats[]>;
  readDevices(): Promise<HostDevices>;
}
