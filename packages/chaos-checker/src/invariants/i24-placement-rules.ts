import type { ApiObject } from '../history/api-objects.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { bindingOf, selects, tolerates } from './placement.ts';
import { Recent } from './recent.ts';

/**
 * I24 (Kubernetes: the scheduler's NodeAffinity and TaintToleration). At the binding by a leader, the node meets the pod's node selector,
 * required node affinity and tolerations, now or in a state that is at most some seconds old. The revision of the scheduler's snapshot is
 * not recorded, and rules between pods are not computed here. From etcd's history.
 */
export const placementRules: Invariant = {
  id: 'I24',
  title: 'A binding obeys taints and node affinity',
  unit: 'bindings',
  needs: ['etcd'],
  observe(world, findings) {
    const { staleMs } = boundsOf(world);
    const nodes = new Map<string, Recent<ApiObject | undefined>>();
    return {
      change(change) {
        const { resource, name, key, before, after, atMs, source } = change;
        if (resource === 'nodes') {
          const recent = nodes.get(name) ?? new Recent<ApiObject | undefined>(staleMs);
          if (!nodes.has(name)) recent.add(0, before?.object);
          recent.add(atMs, after?.object);
          nodes.set(name, recent);
        }
        const pod = bindingOf(change);
        if (pod === undefined || change.fence === undefined) return;
        findings.checked();
        const target = pod.spec?.nodeName ?? '';
        const node = world.get('nodes', '', target);
        const seen = nodes.get(target)?.at(atMs) ?? [node?.object];
        if (seen.some((one) => one !== undefined && tolerates(pod, one) && selects(pod, one))) return;
        findings.violation(
          atMs,
          `${key} was bound to ${target}, whose taints or labels do not allow it`,
          node?.source,
          source,
        );
      },
    };
  },
};
