import type { OpenedPath } from './host-files.ts';

/** What is to be bound. */
export interface BindSource {
  readonly opened: OpenedPath;
  /** Of what lies on the host: whether what the host mounts below it from now on appears in the bound path. The other way nothing goes. */
  readonly propagation: 'none' | 'from-host';
}

/** Mounts inside the state folder. The engine's host shows them at the same place: see `StateFolder`. */
export interface HostMounts {
  readonly network: NetworkMounts;
  readonly disks: DiskMounts;
  /**
   * Binds each source below `folder`, which it makes readable by the agent alone. Returns the paths in the same order.
   * AgentError 'FailedMount', also where this node may not mount what lies on its host; what was mounted until then stays until `detach`.
   */
  bind(sources: readonly BindSource[], folder: string): Promise<readonly string[]>;
  /** Makes `folder` a file system in memory of at most `sizeBytes`. One that exists is kept as it is. AgentError 'FailedMount'. */
  mountMemory(folder: string, sizeBytes: number, mode: number): Promise<'made' | 'kept'>;
  /** AgentError 'FailedMount' unless `mountMemory` has made `folder` a file system in memory. */
  checkMemory(folder: string): Promise<void>;
  /** Whether something is mounted at `folder`. */
  isMounted(folder: string): Promise<boolean>;
  /**
   * Takes away what `bind` has made below `folder`, and the folder. It waits for nothing: neither for a server of the network nor for
   * a process that has a file open there, which keeps it. What is bound is mounted elsewhere too, and loses nothing. Idempotent.
   * AgentError 'FailedMount'.
   */
  detach(folder: string): Promise<void>;
  /** Unmounts everything at and below `folder` and removes it. Idempotent. AgentError 'FailedMount'. */
  remove(folder: string): Promise<void>;
}

/** One folder, as this process sees it and as the engine's host does: pods mount by the host's path. */
export interface StateFolder {
  readonly path: string;
  readonly hostPath: string;
}

/** A folder of an NFS server. */
export interface NfsSource {
  /** A name or an address, IPv6 without brackets. */
  readonly server: string;
  readonly path: string;
  /** As mount(8) takes them; each may be several, divided by commas. */
  readonly options: readonly string[];
  readonly access: 'read-write' | 'read-only';
}

/**
 * File systems of the network, mounted in the state folder by the kernel of the engine's host. They stay when the agent ends, and
 * `HostMounts.remove` takes them away.
 */
export interface NetworkMounts {
  /** Makes `folder` that of the server. One where something is mounted is kept. AgentError 'FailedMount' with the reason. */
  mountNfs(folder: string, source: NfsSource, signal: AbortSignal): Promise<'made' | 'kept'>;
  /**
   * AgentError 'FailedMount' unless something is mounted at `folder` and its server answers. Call it before this process opens what is in
   * it: the kernel waits for a server without end, and the few threads that read files would wait with it.
   */
  checkAnswers(folder: string, signal: AbortSignal): Promise<void>;
}

/** A block device of the engine's host with the file system that is on it, or is to be made. */
export interface DiskSource {
  /** Its path on the host. */
  readonly path: string;
  /** The type of the file system, as mount(8) takes it. */
  readonly fileSystem: string;
  /** As mount(8) takes them. */
  readonly options: readonly string[];
  /** `read-only`: no file system is made, and none is repaired. Whether it is mounted writable, `options` say. */
  readonly access: 'read-write' | 'read-only';
}

/**
 * File systems on block devices of the engine's host, mounted in the state folder. They stay when the agent ends, and
 * `HostMounts.remove` takes them away.
 */
export interface DiskMounts {
  /**
   * Mounts the device that `open` opens at `folder`. One where something is mounted is kept, and nothing is opened: its name may be gone by
   * then. Every mount of a device shows the same file system. One is made before the first of them where the device has no signature at all: what has another one, as of a partition table,
   * is never written to. AgentError 'FailedMount' with the reason.
   */
  mountDisk(
    folder: string,
    open: () => Promise<OpenedPath>,
    source: DiskSource,
    signal: AbortSignal,
  ): Promise<'made' | 'kept'>;
}
