import { type ApiObject, hasCondition, isTerminal } from '../history/api-objects.ts';
import { add, nanosOf, podRequests } from '../history/quantities.ts';
import type { World } from '../history/world.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { selects, tolerates } from './placement.ts';

/**
 * I23 (Anvil: eventually stable reconciliation). When the faults have stopped for longer than the bound, no pod is left without a node that
 * one could take: ready, schedulable, with tolerated taints, matching labels and enough free resources. Pods with claims, affinity between
 * pods or spread constraints are left out, since those rules are not computed here. From etcd's state at the end.
 */
export const feasiblePodsBound: Invariant = {
  id: 'I23',
  title: 'Pods that fit are bound after the faults',
  unit: 'pods at the end',
  needs: ['etcd'],
  observe(world, findings) {
    const { convergeMs } = boundsOf(world);
    return {
      finish() {
        if (world.calmMs() <= convergeMs) {
          findings.undecided(`the end had less than ${convergeMs} ms of calm`);
          return;
        }
        for (const version of world.list('pods')) {
          const pod = version.object;
          if (pod === undefined || isTerminal(pod) || pod.metadata?.deletionTimestamp !== undefined) continue;
          if (pod.spec?.nodeName !== undefined) {
            findings.checked();
            continue;
          }
          if (world.nowMs - version.atMs <= convergeMs || (pod.spec?.schedulingGates?.length ?? 0) > 0) continue;
          if (!isComputed(pod)) {
            findings.undecided('pods have rules that are not computed');
            continue;
          }
          findings.checked();
          const node = [...world.list('nodes')].find(({ object }) => object !== undefined && fits(world, pod, object));
          if (node === undefined) continue;
          const forMs = world.nowMs - version.atMs;
          findings.violation(
            world.nowMs,
            `${version.key} has waited for ${forMs} ms, though ${node.name} has room`,
            version.source,
            node.source,
          );
        }
      },
    };
  },
};

function isComputed({ spec = {} }: ApiObject): boolean {
  const { affinity, topologySpreadConstraints = [], resourceClaims = [], volumes = [], schedulerName } = spec;
  const claims = volumes.some((one) => one.persistentVolumeClaim !== undefined || one.ephemeral !== undefined);
  const ours = schedulerName === undefined || schedulerName === 'default-scheduler';
  const rules = affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined;
  return ours && !claims && !rules && topologySpreadConstraints.length === 0 && resourceClaims.length === 0;
}

function fits(world: World, pod: ApiObject, node: ApiObject): boolean {
  if (!hasCondition(node, 'Ready') || !tolerates(pod, node) || !selects(pod, node)) return false;
  const sum = new Map(podRequests(pod));
  for (const { object } of world.list('pods')) {
    const other = object;
    if (other?.spec?.nodeName === node.metadata?.name && other !== undefined && !isTerminal(other))
      add(sum, podRequests(other));
  }
  return [...podRequests(pod).keys()].every((what) => {
    const most = nanosOf(node.status?.allocatable?.[what]);
    return sum.get(what) === 0n || (most !== undefined && (sum.get(what) ?? 0n) <= most);
  });
}
