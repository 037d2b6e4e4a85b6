import type { Instant } from '@gantry/base';

/** The resource usage of a container. */
export interface ContainerStats {
  readonly at: Instant;
  /** CPU time since the container's start, in nanoseconds. */
  readonly cpuNanos: number;
  /** Its working set: memory in use without files that have not been read lately. */
  readonly memoryBytes: number;
  /** Memory that counts towards its limit: memory in use, including all cached files. */
  readonly memoryUsageBytes: number;
  /** The number of processes and threads; absent where the host does not count them. */
  readonly processes?: number;
  /** Absent where the host reports no details about memory. */
  readonly memory?: MemoryStats;
  /** Absent without a CPU limit. */
  readonly throttling?: ThrottlingStats;
}

/** Memory usage by kind, in bytes, and the number of page faults. */
export interface MemoryStats {
  /** Memory that is not backed by files. */
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly pageFaults: number;
  /** Page faults that read from a disk. */
  readonly majorPageFaults: number;
}

/** CPU throttling: periods in which the container has used up its CPU quota. */
export interface ThrottlingStats {
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNanos: number;
}

/** Traffic of a network interface in one direction. */
export interface Traffic {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

/** Traffic of a network interface since it was created. */
export interface InterfaceStats {
  readonly name: string;
  readonly received: Traffic;
  readonly sent: Traffic;
}

/** I/O of a container on one device since the container's start. */
export interface DeviceIo {
  /** The device number of the kernel: `major:minor`. */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** The host's folders that contain what a container has written. */
export interface ContainerFolders {
  /** The writable layer; undefined where the engine does not report it. */
  readonly layerFolder: string | undefined;
  /** The log files; undefined without any. */
  readonly logFolder: string | undefined;
}

/** The disk usage of a container on the host. */
export interface ContainerStorage extends ContainerFolders {
  /** The size of the writable layer. */
  readonly writableBytes: number;
}

/** Measures containers. */
export interface StatsRuntime {
  /** Usage by container id. Containers that do not run are left out. */
  readStats(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStats>>;
  /**
   * The interfaces of sandboxes with their own network, by sandbox id, without the loopback. Sandboxes that do not run, or whose
   * processes are not accessible, are left out.
   */
  readNetworks(
    sandboxIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly InterfaceStats[]>>;
  /** I/O by container id. Left out are containers that do not run, or whose control group does not report it. */
  readDeviceIo(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly DeviceIo[]>>;
  /** Folders by container id, of existing containers, running or not; others are left out. */
  findFolders(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerFolders>>;
  /** Like `findFolders`, with sizes. The engine reads the disk to measure them. */
  readStorage(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ContainerStorage>>;
}

/** Available resources of the engine's host, and their totals. */
export interface HostReading {
  /** `available`: everything but the working set, which is memory in use without files that have not been read lately. */
  readonly memory: { readonly availableBytes: number; readonly capacityBytes: number };
  /** The file system of volumes, logs, writable layers and images. `inodes` is 0 on file systems that create inodes on demand. */
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
  /** Names of disks and partitions, by device number `major:minor`. */
  readonly names: ReadonlyMap<string, string>;
  /** The name of the device with the file system of `HostReading.disk`. */
  readonly files: string;
}

/** Measures the engine's host; cheap. */
export interface HostMeter {
  read(): Promise<HostReading>;
  /** The host's interfaces, without the loopback and those of containers. */
  readNetwork(): Promise<readonly InterfaceStats[]>;
  readDevices(): Promise<HostDevices>;
}
