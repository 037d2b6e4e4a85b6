import type { InterfaceStats } from './stats.ts';

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
