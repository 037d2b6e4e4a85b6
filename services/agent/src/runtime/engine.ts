import type { Owner } from './labels.ts';

/** What the engine reports about itself and its host. */
export interface EngineInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly os: string;
  readonly architecture: string;
  readonly appArmor: 'enabled' | 'disabled';
  /** What a container without a profile of its own gets. */
  readonly seccomp: 'default-profile' | 'unconfined' | 'unavailable';
  /** Whether it can make read-only what is mounted inside a mount. */
  readonly recursiveReadOnly: 'supported' | 'unsupported';
  /**
   * Whether a pod can have a control group of its own. `driver`: the engine leaves its groups to systemd. `unreachable`: the agent does not
   * find them, or may not write there.
   */
  readonly podGroups: 'supported' | 'driver' | 'unreachable';
  /** Names of the low-level runtimes, which RuntimeClasses call handlers. */
  readonly runtimes: readonly string[];
}

/**
 * What a test container showed: an engine without CAP_SYS_RESOURCE refuses negative OOM scores and full privilege. `no-sys-resource`: it
 * gives all capabilities but that one only where that one is dropped. `sys-resource-unknown`: it gives all that it has, and refuses a container
 * that names that one, even to drop it, as newer engines do.
 */
export type EnginePrivilege = 'full' | 'no-sys-resource' | 'sys-resource-unknown';

/** Questions to the engine itself. */
export interface EngineRuntime {
  info(signal: AbortSignal): Promise<EngineInfo>;
  /** Resolves when the engine answers; cheap. */
  ping(signal: AbortSignal): Promise<void>;
  /** Starts and removes one container of `image`, with `owner`'s labels and without a pod. */
  probe(image: string, owner: Owner, signal: AbortSignal): Promise<EnginePrivilege>;
}
