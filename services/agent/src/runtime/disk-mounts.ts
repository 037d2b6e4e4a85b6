import type { OpenedPath } from './opened-path.ts';

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
