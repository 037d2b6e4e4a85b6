import { boundsOf, type Invariant } from './invariant.ts';

/** Controllers delete these themselves, while their owners live. */
const REPLACED = new Set([
  'pods',
  'apps/replicasets',
  'apps/controllerrevisions',
  'batch/jobs',
  'discovery.k8s.io/endpointslices',
  'endpoints',
  'persistentvolumeclaims',
  'persistentvolumes',
  'certificates.k8s.io/certificatesigningrequests',
  'coordination.k8s.io/leases',
  'events',
  'events.k8s.io/events',
  'secrets',
  'serviceaccounts',
]);

/**
 * I20 (Kubernetes: garbage collection, finalizers). In calm, within the bound, no object survives all its owners. No leader's write deletes
 * an object while an owner lives, except of kinds that controllers replace. No object with finalizers is removed before its deletion has
 * been requested. From etcd's history.
 */
export const garbageCollection: Invariant = {
  id: 'I20',
  title: 'Objects end with their owners, not before; finalizers are honoured',
  unit: 'removals and owned objects',
  needs: ['etcd'],
  observe(world, findings) {
    const { convergeMs } = boundsOf(world);
    return {
      change({ resource, key, before, after, fence, atMs, source, namespace }) {
        if (after !== undefined || before === undefined) return;
        const { finalizers = [], deletionTimestamp, ownerReferences = [] } = before.object?.metadata ?? {};
        if (finalizers.length > 0) {
          findings.checked();
          if (deletionTimestamp === undefined) {
            findings.violation(
              atMs,
              `${key} was removed with the finalizers ${finalizers.join(', ')}, without a request`,
              before.source,
              source,
            );
          }
        }
        if (fence === undefined || REPLACED.has(resource) || ownerReferences.length === 0) return;
        const ending = world.get('namespaces', '', namespace)?.object?.metadata?.deletionTimestamp !== undefined;
        if (ending || deletionTimestamp !== undefined) return;
        findings.checked();
        const owner = ownerReferences.map(({ uid }) => world.byUid.get(uid ?? '')).find((one) => one !== undefined);
        if (owner === undefined || owner.object?.metadata?.deletionTimestamp !== undefined) return;
        findings.violation(
          atMs,
          `${key} was deleted while its owner ${owner.key} lives`,
          owner.source,
          before.source,
          source,
        );
      },
      finish() {
        if (world.calmMs() <= convergeMs) {
          findings.undecided(`the end had less than ${convergeMs} ms of calm: orphaned objects are not looked for`);
          return;
        }
        for (const version of world.objects.values()) {
          const owners = version.object?.metadata?.ownerReferences ?? [];
          if (owners.length === 0 || world.nowMs - version.atMs <= convergeMs) continue;
          findings.checked();
          if (
            owners.some(({ uid }) => world.byUid.has(uid ?? '')) ||
            version.object?.metadata?.deletionTimestamp !== undefined
          )
            continue;
          const names = owners.map(({ kind, name }) => `${kind} ${name}`).join(', ');
          findings.violation(world.nowMs, `${version.key} has outlived ${names}`, version.source);
        }
      },
    };
  },
};
