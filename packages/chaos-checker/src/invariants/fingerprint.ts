import { controllerOf } from '../history/api-objects.ts';
import { FREQUENT, type ObjectVersion, type World } from '../history/world.ts';

/** Fields that differ between two runs, or change with time alone. */
const MASKED = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'observedGeneration',
  'creationTimestamp',
  'deletionTimestamp',
  'managedFields',
  'startTime',
  'completionTime',
  'startedAt',
  'finishedAt',
  'lastTransitionTime',
  'lastUpdateTime',
  'lastProbeTime',
  'lastHeartbeatTime',
  'lastScheduleTime',
  'lastSuccessfulTime',
  'renewTime',
  'acquireTime',
  'message',
]);
/** Of a spec: chosen by the cluster. */
const CHOSEN = new Set([
  'nodeName',
  'clusterIP',
  'clusterIPs',
  'nodePort',
  'healthCheckNodePort',
  'volumeName',
  'claimRef',
  'podCIDR',
  'podCIDRs',
  'providerID',
  'ownerReferences',
  'pod-template-hash',
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
  'controller-revision-hash',
]);
const CHAOS_GROUP = 'chaos.gantry.dev';
/** Objects of the cluster, not of the workload, or with content of their own in each run. */
const LEFT_OUT = new Set([
  ...FREQUENT,
  'nodes',
  'secrets',
  'serviceaccounts',
  'endpoints',
  'discovery.k8s.io/endpointslices',
  'apps/controllerrevisions',
  'certificates.k8s.io/certificatesigningrequests',
  'storage.k8s.io/csinodes',
  'networking.k8s.io/ipaddresses',
  // The campaign itself, others that wait for it, and who makes them.
  `${CHAOS_GROUP}/chaosruns`,
  `${CHAOS_GROUP}/chaosservices`,
  // Named after the uid of their claim, which is compared.
  'persistentvolumes',
]);
const STATUS = [
  'phase',
  'replicas',
  'readyReplicas',
  'availableReplicas',
  'updatedReplicas',
  'numberReady',
  'succeeded',
];

/** An object as JSON without times, messages and counters of versions. */
export function masked(object: object | undefined): string {
  return JSON.stringify(object ?? null, (key, value: unknown) => (MASKED.has(key) ? undefined : value));
}

/**
 * What must be equal in two runs: resource, namespace, name, spec and the essence of the status, without what the cluster chooses. A
 * dependent is named after its owner. Undefined for objects that are not compared.
 */
export function fingerprint(version: ObjectVersion, world: World): string | undefined {
  const { object, resource, namespace } = version;
  if (LEFT_OUT.has(resource) || object === undefined) return undefined;
  const status = object.status as Readonly<Record<string, unknown>> | undefined;
  const essence = Object.fromEntries(
    STATUS.flatMap((name) => (status?.[name] === undefined ? [] : [[name, status[name]]])),
  );
  const name = nameOf(version, world);
  const spec = JSON.stringify(object.spec ?? null, (key, value: unknown) => {
    if (MASKED.has(key) || CHOSEN.has(key)) return undefined;
    // The volume of the token has a random name.
    return typeof value === 'string' && value.startsWith('kube-api-access-') ? 'kube-api-access' : value;
  });
  return `${resource} ${namespace}/${name} ${JSON.stringify(essence)} ${spec}`;
}

function nameOf(version: ObjectVersion, world: World): string {
  const owner = controllerOf(version.object);
  if (owner === undefined) return version.name;
  const found = world.byUid.get(owner.uid ?? '');
  return `${found === undefined ? (owner.name ?? '') : nameOf(found, world)}/*`;
}
