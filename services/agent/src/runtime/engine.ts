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
  /** The seccomp profile of a container that has none of its own. */
  readonly seccomp: 'default-profile' | 'unconfined' | 'unavailable';
  /** Whether the engine can make nested mounts read-only. */
  readonly recursiveReadOnly: 'supported' | 'unsupported';
  /**
   * Whether a pod can have its own control group. `driver`: the engine leaves its groups to systemd. `unreachable`: the agent
   * does not find the groups, or may not write there.
   */
  readonly podGroups: 'supported' | 'driver' | 'unreachable';
  /** Names of the low-level runtimes; RuntimeClasses call them handlers. */
  readonly runtimes: readonly string[];
}

/**
 * Which privileges a test container got. An engine without CAP_SYS_RESOURCE refuses negative OOM scores and full privilege.
 * `no-sys-resource`: it can give all its capabilities if that one is dropped explicitly. `sys-resource-unknown`: it gives all
 * that it has, and refuses a container that names that capability, even to drop it; newer engines do so.
 */
export type EnginePrivilege = 'full' | 'no-sys-resource' | 'sys-resource-unknown';

/** Queries the engine itself. */
export interface EngineRuntime {
  info(signal: AbortSignal): Promise<EngineInfo>;
  /** Resolves when the engine answers; cheap. */
  ping(signal: AbortSignal): Promise<void>;
  /** Starts and removes one container of `image`, with `owner`'s labels and without a pod. */
  probe(image: string, owner: Owner, signal: AbortSignal): Promise<EnginePrivilege>;
}
