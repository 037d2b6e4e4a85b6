import type { Owner } from './labels.ts';

/** Whether a container is in its pod's control group or in the engine's. */
export type ContainerGroup = 'engine' | 'pod';

/** A pod whose containers share a control group. */
export interface GroupedPod {
  readonly owner: Owner;
  readonly uid: string;
}

/** The limits of a pod's control group. */
export interface PodGroupState {
  readonly limits: ResourceLimits;
  /** The swap limit does not match the memory limit yet, because an agent was killed between setting the two. */
  readonly swap?: 'to-be-set';
  /** The largest difference between requested and actual limits: the kernel counts whole pages, and cgroup v2 uses weights. */
  readonly precision: { readonly cpuShares: number; readonly memoryBytes: number };
}

/**
 * Control groups of pods, for pod-level resources. `createSandbox` creates them for sandboxes with `resources`. A group exists
 * until it is removed, even if it is empty.
 */
export interface PodGroupRuntime {
  /**
   * Changes the limits of a pod's group, and creates the group if it is missing. AgentError 'Runtime' when the kernel refuses the
   * limits.
   */
  updatePodGroup(pod: GroupedPod, limits: ResourceLimits): Promise<void>;
  /** The pod's memory usage in bytes; undefined without a group. */
  readPodMemory(pod: GroupedPod): Promise<number | undefined>;
  /** Removes an empty group; returns false for a group that still has processes. Idempotent. */
  removePodGroup(pod: GroupedPod): Promise<boolean>;
  /** The uids of pods of a node that have a group. */
  listPodGroups(owner: Owner): Promise<readonly string[]>;
}

/** Control group values of a container or a pod; an absent field means no limit. */
export interface ResourceLimits {
  readonly cpuShares?: number;
  readonly cpuQuotaMicros?: number;
  readonly memoryBytes?: number;
}
