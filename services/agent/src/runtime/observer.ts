import type { ContainerState } from './containers.ts';
import type { Instances, Owner, PodIdentity } from './labels.ts';
import type { PodGroupState } from './pod-groups.ts';
import type { SandboxState } from './sandboxes.ts';

/** Everything of one pod that exists in the engine, newest attempts first. */
export interface PodState {
  readonly owner: Owner;
  readonly identity: PodIdentity;
  readonly graceSeconds: number;
  /** As the labels of its sandbox say; absent: any, or a sandbox of an earlier version. */
  readonly instances?: Instances;
  readonly sandboxes: readonly SandboxState[];
  readonly containers: readonly ContainerState[];
  /** Ids of containers that hold the images of the pod's volumes. They are never containers of the pod's spec. */
  readonly imageHolds: readonly string[];
  /** The pod's control group; absent: it has none. */
  readonly group?: PodGroupState;
}

/** A container of the cluster changed: list this pod again. */
export interface RuntimeEvent {
  readonly node: string;
  readonly podUid: string;
  /**
   * 'outOfMemory': the kernel killed a process of the container. If that ends the container, 'ended' may come before or after it.
   */
  readonly what: 'started' | 'ended' | 'outOfMemory' | 'paused' | 'updated' | 'removed';
}

/** Which pods to list; an absent field matches all pods of the cluster on this engine. */
export interface PodFilter {
  readonly cluster: string;
  readonly node?: string;
  readonly podUid?: string;
}

/** Lists pods and watches for changes of their containers. */
export interface RuntimeObserver {
  listPods(filter: PodFilter, signal: AbortSignal): Promise<readonly PodState[]>;
  /**
   * Events from now on. The first element is 'connected'; list after it, since earlier events may be missing. Ends with an error
   * when the engine becomes unreachable; the caller connects again.
   */
  watch(cluster: string, signal: AbortSignal): AsyncIterable<RuntimeEvent | 'connected'>;
}
