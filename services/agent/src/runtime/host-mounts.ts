import type { DiskMounts } from './disk-mounts.ts';
import type { NetworkMounts } from './network-mounts.ts';
import type { OpenedPath } from './opened-path.ts';

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
