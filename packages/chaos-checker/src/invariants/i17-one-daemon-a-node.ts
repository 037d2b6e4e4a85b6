import { type ApiObject, controllerOf, isActive, scaled } from '../history/api-objects.ts';
import type { Invariant } from './invariant.ts';

/**
 * I17 (Kubernetes: DaemonSet). At most one pod of a DaemonSet is active for a node, at every revision; two during an update with maxSurge.
 * From etcd's history.
 */
export const oneDaemonANode: Invariant = {
  id: 'I17',
  title: 'A DaemonSet has at most one pod on a node',
  unit: 'pods of DaemonSets',
  needs: ['etcd'],
  observe(world, findings) {
    return {
      change({ resource, key, before, after, atMs, source }) {
        if (resource !== 'pods' || after === undefined) return;
        const pod = after.object;
        const set = world.byUid.get(controllerOf(pod)?.uid ?? '');
        if (pod === undefined || set?.resource !== 'apps/daemonsets' || !isActive(pod)) return;
        const node = nodeOf(pod);
        if (before !== undefined && nodeOf(before.object) === node) return;
        findings.checked();
        const others = world.dependentsOf(set.object?.metadata?.uid, 'pods').filter((other) => {
          const one = other.object;
          return other.key !== key && isActive(one) && nodeOf(one) === node;
        });
        const surge = set.object?.spec?.updateStrategy?.rollingUpdate?.maxSurge ?? 0;
        const most = (scaled(surge, 100, 'up') ?? 0) > 0 ? 2 : 1;
        if (node === undefined || others.length < most) return;
        findings.violation(
          atMs,
          `${set.key} has ${others.length + 1} pods on ${node}`,
          ...others.map((one) => one.source),
          source,
        );
      },
    };
  },
};

/** The node that a pod is bound to, or which the DaemonSet controller has chosen for it. */
function nodeOf(pod: ApiObject | undefined): string | undefined {
  const spec = pod?.spec;
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return spec?.nodeName ?? terms?.[0]?.matchFields?.find(({ key }) => key === 'metadata.name')?.values?.[0];
}
