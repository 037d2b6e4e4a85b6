import { isTerminal } from '../history/api-objects.ts';
import { add, nanosOf, podRequests, type Requests } from '../history/quantities.ts';
import type { ObjectVersion } from '../history/world.ts';
import type { Invariant } from './invariant.ts';
import { bindingOf } from './placement.ts';

/**
 * I22 (Kubernetes: the scheduler's NodeResourcesFit). After each binding, the requests of the node's pods that are not terminal are at most
 * its allocatable resources. Pods that name their node themselves do not pass the scheduler, but count. From etcd's history.
 */
export const nodesNotOvercommitted: Invariant = {
  id: 'I22',
  title: 'Requests on a node stay within what it can allocate',
  unit: 'bindings',
  needs: ['etcd'],
  observe(world, findings) {
    /** Requests of the pods of each node, by the pods' keys. */
    const nodes = new Map<string, Map<string, Requests>>();
    const place = (version: ObjectVersion | undefined, put: boolean) => {
      const pod = version?.object;
      const name = pod?.spec?.nodeName;
      if (version === undefined || pod === undefined || name === undefined || isTerminal(pod)) return;
      const pods = nodes.get(name) ?? new Map<string, Requests>();
      nodes.set(name, pods);
      if (put) pods.set(version.key, podRequests(pod));
      else pods.delete(version.key);
    };
    return {
      begin() {
        for (const version of world.list('pods')) place(version, true);
      },
      change(change) {
        const { resource, key, before, after, atMs, source } = change;
        if (resource !== 'pods') return;
        place(before, false);
        place(after, true);
        const pod = bindingOf(change);
        if (pod === undefined || change.fence === undefined || isTerminal(pod)) return;
        const name = pod.spec?.nodeName ?? '';
        const node = world.get('nodes', '', name);
        const { allocatable = {} } = node?.object?.status ?? {};
        findings.checked();
        const sum = new Map<string, bigint>();
        for (const requests of nodes.get(name)?.values() ?? []) add(sum, requests);
        for (const [what, needed] of podRequests(pod)) {
          const total = sum.get(what) ?? 0n;
          const most = nanosOf(allocatable[what]);
          if (needed === 0n || (most !== undefined && total <= most)) continue;
          const text = `${Number(total) / 1e9} of ${allocatable[what] ?? 'no'} ${what}`;
          findings.violation(atMs, `after ${key} is bound, ${name} has to give ${text}`, node?.source, source);
        }
      },
    };
  },
};
