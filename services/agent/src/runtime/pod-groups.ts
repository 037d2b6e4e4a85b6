import type { Owner } from './labels.ts';

/** Whether a container is in the control group of its pod or where the engine puts containers. */
export type ContainerGroup = 'engine' | 'pod';

/** A pod whose containers share a control group. */
export interface GroupedPod {
  readonly owner: Owner;
  readonly uid: string;
}

/** What a pod's control group is held to. */
export interface PodGroupState {
  readonly limits: ResourceLimits;
  /** Its swap is not limited as its memory is: an agent was killed between the two. */
  readonly swap?: 'to-be-set';
  /** By how much they may differ from what was asked for: the kernel counts whole pages, and in version 2 weights. */
  readonly precision: { readonly cpuShares: number; readonly memoryBytes: number };
}

/**
 * Control groups of pods, for pod-level resources. `createSandbox` makes them, for sandboxes with `resources`. A group lasts until it is
 * removed, whether or not something is in it.
 */
export interface PodGroupRuntime {
  /** Holds a pod's group to other limits; it is made where it is missing. AgentError 'Runtime' when the kernel refuses them. */
  updatePodGroup(pod: GroupedPod, limits: ResourceLimits): Promise<void>;
  /** What the pod has in use; undefined where it has no group. */
  readPodMemory(pod: GroupedPod): Promise<number | undefined>;
  /** Idempotent. A group that something is in stays: false. */
  removePodGroup(pod: GroupedPod): Promise<boolean>;
  /** The uids of pods of a node that have a group. */
  listPodGroups(owner: Owner): Promise<readonly string[]>;
}

/** Control group values of a container or a pod; an absent one is not limited. */
export interface ResourceLimits {
  readonly cpuShares?: number;
  readonly cpuQuotaMicros?: number;
  readonly memoryBytes?: number;
}
