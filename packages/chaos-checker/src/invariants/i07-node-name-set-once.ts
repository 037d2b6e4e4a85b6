import type { Invariant } from './invariant.ts';

/** I7 (Kubernetes' API). `spec.nodeName` of a pod is set once and never changes. From etcd's history. */
export const nodeNameSetOnce: Invariant = {
  id: 'I7',
  title: 'A pod is bound once',
  unit: 'changes of bound pods',
  needs: ['etcd'],
  observe(_, findings) {
    return {
      change({ resource, key, before, after, atMs, source }) {
        if (resource !== 'pods' || before === undefined || after === undefined) return;
        const old = before.object;
        const pod = after.object;
        const node = old?.spec?.nodeName;
        if (node === undefined || old?.metadata?.uid !== pod?.metadata?.uid) return;
        findings.checked();
        if (pod?.spec?.nodeName === node) return;
        findings.violation(
          atMs,
          `${key} was bound to ${node}, and then to ${pod?.spec?.nodeName}`,
          before.source,
          source,
        );
      },
    };
  },
};
