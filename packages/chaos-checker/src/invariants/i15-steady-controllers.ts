import { type ApiObject, controllerOf, isActive } from '../history/api-objects.ts';
import type { ObjectVersion } from '../history/world.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { Recent } from './recent.ts';

const SETS = new Set(['apps/replicasets', 'apps/statefulsets']);

/**
 * I15 (Kubernetes' DaemonRestart test; expectations of the ReplicaSet controller). In steady state, and above all when another
 * controller-manager takes over, replicas are neither created nor deleted: no controller creates a pod of a ReplicaSet or StatefulSet
 * that has its replicas, nor deletes one of a set that has no more than them. A controller may act on a view that is some seconds old, in
 * which a pod that others have just ended is still there. Excepted are deletions during a StatefulSet's update, from a node that is or was
 * just now tainted, or is gone, and of sets that are being deleted. From etcd's history.
 */
export const steadyControllers: Invariant = {
  id: 'I15',
  title: 'Controllers replace no replica of a complete set',
  unit: 'creations and deletions of replicas by controllers',
  needs: ['etcd'],
  observe(world, findings) {
    const { staleMs } = boundsOf(world);
    const wanted = new Map<string, Recent<number>>();
    const taints = new Map<string, Recent<boolean>>();
    /** By uid of a set: when others than controllers ended its pods. */
    const losses = new Map<string, number[]>();
    const replicasOf = (set: ObjectVersion, atMs: number): readonly number[] => {
      const recent = wanted.get(set.key);
      return recent === undefined ? [replicas(set)] : recent.at(atMs);
    };
    const excused = (set: ObjectVersion, pod: ApiObject, atMs: number): boolean => {
      const { metadata, status } = set.object ?? {};
      if (metadata?.deletionTimestamp !== undefined || status?.currentRevision !== status?.updateRevision) return true;
      const nodeName = pod.spec?.nodeName ?? '';
      const node = world.get('nodes', '', nodeName)?.object;
      if (node === undefined || node.metadata?.deletionTimestamp !== undefined) return true;
      return taints.get(nodeName)?.at(atMs).includes(true) ?? isTainted(node);
    };
    return {
      change({ resource, key, name, before, after, fence, atMs, source }) {
        if (resource === 'nodes') {
          const recent = taints.get(name) ?? new Recent<boolean>(staleMs);
          if (!taints.has(name)) recent.add(0, isTainted(before?.object));
          recent.add(atMs, isTainted(after?.object));
          taints.set(name, recent);
        }
        if (SETS.has(resource) && after !== undefined) {
          const recent = wanted.get(key) ?? new Recent<number>(staleMs);
          if (before !== undefined && !wanted.has(key)) recent.add(0, replicas(before));
          recent.add(atMs, replicas(after));
          wanted.set(key, recent);
        }
        const pod = after?.object;
        if (resource !== 'pods') return;
        if (fence === undefined && isActive(before?.object) && !isActive(pod)) {
          const uid = controllerOf(before?.object)?.uid ?? '';
          const known = losses.get(uid)?.filter((lostAtMs) => atMs - lostAtMs <= staleMs) ?? [];
          losses.set(uid, [...known, atMs]);
        }
        if (fence === undefined || pod === undefined) return;
        const set = world.byUid.get(controllerOf(pod)?.uid ?? '');
        if (set === undefined || !SETS.has(set.resource)) return;
        const others = world
          .dependentsOf(set.object?.metadata?.uid, 'pods')
          .filter((one) => one.key !== key && isActive(one.object)).length;
        if (before === undefined) {
          findings.checked();
          const most = Math.max(...replicasOf(set, atMs));
          if (others >= most)
            findings.violation(
              atMs,
              `${key} was created for ${set.key}, which had ${others} of ${most} pods`,
              set.source,
              source,
            );
          return;
        }
        if (!isActive(before.object) || pod.metadata?.deletionTimestamp === undefined || excused(set, pod, atMs))
          return;
        findings.checked();
        const least = Math.min(...replicasOf(set, atMs));
        const lost = losses.get(set.object?.metadata?.uid ?? '') ?? [];
        if (others + lost.filter((lostAtMs) => atMs - lostAtMs <= staleMs).length >= least) return;
        findings.violation(
          atMs,
          `${key} was deleted, which leaves ${others} of ${least} pods of ${set.key}`,
          set.source,
          before.source,
          source,
        );
      },
    };
  },
};

function isTainted(node: ApiObject | undefined): boolean {
  return (node?.spec?.taints?.length ?? 0) > 0;
}

function replicas({ object }: ObjectVersion): number {
  return object?.spec?.replicas ?? 1;
}
