import { keyOf, parseResource } from '../history/world.ts';
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

/** What may take a finalizer away. */
const UPDATES = new Set(['update', 'patch', 'apply']);
/** Controllers take their own ones away: `kubernetes.io/pvc-protection`, `batch.kubernetes.io/job-tracking`, `foregroundDeletion`. */
const isOfUsers = (finalizer: string) =>
  /^[^/]+\/./.test(finalizer) && !/^(?:[^/]+\.)?kubernetes\.io\//.test(finalizer);

/**
 * I20 (Kubernetes: garbage collection, finalizers). In calm, within the bound, no object survives all its owners. No leader's write deletes
 * an object while an owner lives, except of kinds that controllers replace. No object with finalizers is removed before its deletion has
 * been requested; and none that a recorded client has created with a finalizer of its own before a client has begun a write that may take it
 * away. From etcd's history and the clients' records.
 */
export const garbageCollection: Invariant = {
  id: 'I20',
  title: 'Objects end with their owners, not before; finalizers are honoured',
  unit: 'removals and owned objects',
  needs: ['etcd'],
  observe(world, findings) {
    const { convergeMs } = boundsOf(world);
    /** Objects, by key, that clients have begun to create, and to write. */
    const created = new Set<string>();
    const written = new Set<string>();
    return {
      client(line) {
        if (!('op' in line) || line.phase !== 'invoke') return;
        if (line.verb === 'create') created.add(keyOf(parseResource(line.resource, line.key)));
        if (UPDATES.has(line.verb)) written.add(keyOf(parseResource(line.resource, line.key)));
      },
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
          } else if (created.has(key) && !written.has(key) && finalizers.some(isOfUsers)) {
            const what = `${key} was removed, and nobody has taken the finalizers ${finalizers.join(', ')} away`;
            findings.violation(atMs, what, before.source, source);
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
