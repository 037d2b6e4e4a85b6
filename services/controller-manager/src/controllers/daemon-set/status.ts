import type { Instant } from '@gantry/base';
import type { DaemonSet, DaemonSetStatus, Node, Pod } from '@gantry/objects';
import { isAvailable, isReady } from '../pods/pod-state.ts';
import { oldestFirst, type PodsByNode } from './node-pods.ts';
import type { Placement } from './placement.ts';

/** What a status counts. */
export interface Counted {
  readonly set: DaemonSet;
  readonly nodes: readonly { readonly node: Node; readonly placement: Placement }[];
  readonly byNode: PodsByNode;
  readonly isUpdated: (pod: Pod) => boolean;
}

/** The status that follows from nodes and pods: of each node the oldest pod counts. Zeros are left out as Kubernetes does. */
export function daemonSetStatus({ set, nodes, byNode, isUpdated }: Counted, now: Instant): DaemonSetStatus {
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 };
  for (const { node, placement } of nodes) {
    const pods = byNode.get(node.metadata.name ?? '') ?? [];
    if (placement !== 'run') {
      if (pods.length > 0) counts.misscheduled += 1;
      continue;
    }
    counts.desired += 1;
    const [pod] = pods.length > 1 ? [...pods].sort(oldestFirst) : pods;
    if (pod === undefined) continue;
    counts.current += 1;
    if (isReady(pod)) counts.ready += 1;
    if (isAvailable(pod, set.spec?.minReadySeconds ?? 0, now)) counts.available += 1;
    if (isUpdated(pod)) counts.updated += 1;
  }
  const { conditions, collisionCount } = set.status ?? {};
  const unavailable = counts.desired - counts.available;
  const { generation } = set.metadata;
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(counts.updated === 0 ? {} : { updatedNumberScheduled: counts.updated }),
    ...(counts.available === 0 ? {} : { numberAvailable: counts.available }),
    ...(unavailable === 0 ? {} : { numberUnavailable: unavailable }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}
