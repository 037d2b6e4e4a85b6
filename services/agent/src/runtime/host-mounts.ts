import type { OpenedPath } from './host-files.ts';

/** The source of a bind mount. */
export interface BindSource {
  readonly opened: OpenedPath;
  /**
   * For a path on the host: whether later mounts of the host below it appear in the bound path. Mounts never propagate to the
   * host.
   */
  readonly propagation: 'none' | 'from-host';
}

/** Mounts inside the state folder. They are visible to the engine's host at the same place: see `StateFolder`. */
export interface HostMounts {
  readonly network: NetworkMounts;
  readonly disks: DiskMounts;
  /**
   * Binds each source below `folder`, which becomes accessible to the agent only. Returns the paths in the order of the sources.
   * AgentError 'FailedMount', also when this node may not bind files of its host; the mounts made until then stay until `detach`.
   */
  bind(sources: readonly BindSource[], folder: string): Promise<readonly string[]>;
  /** Mounts a tmpfs of at most `sizeBytes` at `folder`. An existing tmpfs is kept unchanged. AgentError 'FailedMount'. */
  mountMemory(folder: string, sizeBytes: number, mode: number): Promise<'made' | 'kept'>;
  /** AgentError 'FailedMount' unless `folder` is a tmpfs that `mountMemory` has mounted. */
  checkMemory(folder: string): Promise<void>;
  /** Whether something is mounted at `folder`. */
  isMounted(folder: string): Promise<boolean>;
  /**
   * Detaches the mounts of `bind` below `folder`, and removes the folder. It never blocks: a process with an open file there
   * keeps the file, and a network server is not contacted. The sources stay mounted elsewhere and lose nothing. Idempotent.
   * AgentError 'FailedMount'.
   */
  detach(folder: string): Promise<void>;
  /** Unmounts everything at and below `folder` and removes it. Idempotent. AgentError 'FailedMount'. */
  remove(folder: string): Promise<void>;
}

/** The state folder as this process sees it, and as the engine's host sees it. Pods mount by the host's path. */
export interface StateFolder {
  readonly path: string;
  readonly hostPath: string;
}

/** A folder of an NFS server. */
export interface NfsSource {
  /** A name or an address, IPv6 without brackets. */
  readonly server: string;
  readonly path: string;
  /** Options in the form of mount(8); an element may contain several, separated by commas. */
  readonly options: readonly string[];
  readonly access: 'read-write' | 'read-only';
}

/**
 * Network file systems, mounted in the state folder by the kernel of the engine's host. They stay mounted when the agent ends;
 * `HostMounts.remove` unmounts them.
 */
export interface NetworkMounts {
  /** Mounts the server's folder at `folder`. An existing mount is kept. AgentError 'FailedMount' with the reason. */
  mountNfs(folder: string, source: NfsSource, signal: AbortSignal): Promise<'made' | 'kept'>;
  /**
   * AgentError 'FailedMount' unless something is mounted at `folder` and its server answers. Call it before this process opens
   * files there: the kernel waits for a server without a timeout, and would block the few threads that read files.
   */
  checkAnswers(folder: string, signal: AbortSignal): Promise<void>;
}

/** A block device of the engine's host and its file system, which may still have to be created. */
export interface DiskSource {
  /** Its path on the host. */
  readonly path: string;
  /** The type of the file system, as mount(8) takes it. */
  readonly fileSystem: string;
  /** Options in the form of mount(8). */
  readonly options: readonly string[];
  /** `read-only`: no file system is created or repaired. `options` decide whether the mount is writable. */
  readonly access: 'read-write' | 'read-only';
}

/**
 * File systems on block devices of the engine's host, mounted in the state folder. They stay mounted when the agent ends;
 * `HostMounts.remove` unmounts them.
 */
export interface DiskMounts {
  /**
   * Mounts the device that `open` opens at `folder`. An existing mount is kept without calling `open`, because the device's name
   * may be gone by then. All mounts of a device show the same file system. A device without any signature gets a file system
   * before its first mount; a device with another signature, such as a partition table, is never written to. AgentError
   * 'FailedMount' with the reason.
   */
  mountDisk(
    folder: string,
    open: () => Promise<OpenedPath>,
    source: DiskSource,
    signal: AbortSignal,
  ): Promise<'made' | 'kept'>;
}
