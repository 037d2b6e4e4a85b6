import { controllerOf, DAEMON_SETS, type DaemonSet, type Pod, PODS } from '@gantry/objects';
import { isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/** The name of the node that a DaemonSet's pod is made for. */
function nodeOf({ spec }: Pod): string | undefined {
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values?.[0];
}

/** A DaemonSet has at most one pod on a node, or two while an update surges. Pods that are terminating do not count. */
export const daemonInvariant: Invariant = {
  name: 'I17: one pod of a DaemonSet on a node',
  watch: (world, report) =>
    world.subscribe((change) => {
      if (!isOf(change, PODS) || change.object === undefined || change.old !== undefined) return;
      const pod = change.object as Pod;
      const owner = controllerOf(pod);
      if (owner?.kind !== 'DaemonSet') return;
      const set = world.get(DAEMON_SETS, pod.metadata.namespace ?? '', owner.name);
      const there = podsFor(world, owner.uid, nodeOf(pod));
      if (there.length > (mayHaveSurged(set) ? 2 : 1)) {
        report(`${describeChange(change)}: pod ${there.length} of ${owner.name} for ${nodeOf(pod)}`);
      }
    }),
};

function podsFor(world: World, owner: string, node: string | undefined): readonly Pod[] {
  return world
    .all(PODS)
    .filter(
      (pod) =>
        controllerOf(pod)?.uid === owner &&
        nodeOf(pod) === node &&
        pod.metadata.deletionTimestamp === undefined &&
        pod.status?.phase !== 'Failed' &&
        pod.status?.phase !== 'Succeeded',
    );
}

/** Whether the strategy allows a surge, or may have allowed it just before: its change is not observed yet, or an update is in progress. */
function mayHaveSurged(set: DaemonSet | undefined): boolean {
  const surge = set?.spec?.updateStrategy?.rollingUpdate?.maxSurge ?? 0;
  const { updatedNumberScheduled = 0, desiredNumberScheduled = 0, observedGeneration } = set?.status ?? {};
  const isUpdating = updatedNumberScheduled < desiredNumberScheduled;
  return (surge !== 0 && surge !== '0%') || observedGeneration !== set?.metadata.generation || isUpdating;
}
