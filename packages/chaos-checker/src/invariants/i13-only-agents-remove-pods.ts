import { isTerminal } from '../history/api-objects.ts';
import type { ObjectVersion } from '../history/world.ts';
import type { Invariant } from './invariant.ts';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/**
 * I13 (Kubernetes: safety of pods on lost nodes). A controller asks for the deletion of a pod, and the agent removes it when its containers
 * have ended. So no leader's write removes a bound pod, or reports its end, unless the agent has reported its end, its node is gone or out of
 * service, or the agent or a user has deleted it without a grace period. Such a pod exists only until its last finalizer is removed. From
 * etcd's history, by the records of deletions.
 */
export const onlyAgentsRemovePods: Invariant = {
  id: 'I13',
  title: 'Only the agent removes a pod from its node',
  unit: 'ends of pods by controllers',
  needs: ['etcd'],
  observe(world, findings) {
    /** By uid: pods that others than leaders have deleted without a grace period. */
    const released = new Set<string>();
    return {
      change({ resource, key, before, after, fence, atMs, source }) {
        if (resource !== 'pods') return;
        const pod = before?.object;
        if (fence === undefined) {
          if (hasNoGrace(after) && !hasNoGrace(before)) released.add(after?.object?.metadata?.uid ?? '');
          return;
        }
        const target = pod?.spec?.nodeName;
        const ends = after === undefined || isTerminal(after.object);
        if (pod === undefined || target === undefined || !ends) return;
        findings.checked();
        if (isTerminal(pod) || released.has(pod.metadata?.uid ?? '')) return;
        const node = world.get('nodes', '', target)?.object;
        if (node === undefined || node.spec?.taints?.some(({ key: taint }) => taint === OUT_OF_SERVICE) === true)
          return;
        findings.violation(atMs, `${key}: ${fence.electionKey} ended it on ${target}`, before?.source, source);
      },
    };
  },
};

function hasNoGrace(pod: ObjectVersion | undefined): boolean {
  return pod?.object?.metadata?.deletionGracePeriodSeconds === 0;
}
