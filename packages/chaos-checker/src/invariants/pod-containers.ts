import type { ContainerState, World } from '../history/world.ts';

/** The pod that a container belongs to, by its labels. */
export interface PodOfContainer {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  /** `POD` is the sandbox. */
  readonly container: string;
}

/** Undefined for a container of another cluster, or of no pod. */
export function podOf({ run }: World, state: ContainerState | undefined): PodOfContainer | undefined {
  const labels = state?.labels ?? {};
  const uid = labels['io.kubernetes.pod.uid'];
  if (uid === undefined || labels['gantry.cluster'] !== run.clusterId) return undefined;
  const container = labels['io.kubernetes.container.name'] ?? '';
  // Holds an image while a pod needs it; it never runs anything of the pod.
  if (container === 'IMAGE') return undefined;
  return {
    uid,
    namespace: labels['io.kubernetes.pod.namespace'] ?? '',
    name: labels['io.kubernetes.pod.name'] ?? '',
    node: labels['gantry.node'] ?? '',
    container,
  };
}
