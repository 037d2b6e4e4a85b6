import {
  controllerOf,
  DEPLOYMENTS,
  equalJson,
  type HorizontalPodAutoscaler,
  type Job,
  JOBS,
  type KubeObject,
  LOCAL_PATH,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type Pod,
  PODS,
  PROVISIONED_BY,
  REPLICA_SETS,
  type ReplicaSet,
  STATEFUL_SETS,
  TRACKING_FINALIZER,
} from '@gantry/objects';
import { REVISION } from '../../controllers/deployment/annotations.ts';
import { type Change, isOf, type World } from './world.ts';

/**
 * Resources that are not compared: they keep changing, or no user asked for them. These are heartbeats, leader leases, Events and Nodes.
 */
const UNCOMPARED: ReadonlySet<string> = new Set(['/events', 'coordination.k8s.io/leases', '/nodes']);

/** Fields that are not compared, because they depend on when, by whom and how often something was done. */
const MASKED: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'observedGeneration',
  'managedFields',
  'creationTimestamp',
  'startTime',
  'completionTime',
  'nodeName',
  // A field of a Job.
  'failed',
  // Fields of a Job's pods. They include pods that were lost with a node. An invariant compares the count with the Job's limit.
  'batch.kubernetes.io/job-index-failure-count',
  'batch.kubernetes.io/job-index-ignored-failure-count',
  // A field of a quota. An invariant compares it with the objects that exist.
  'used',
  // A label of a DaemonSet's pod: which of several equal templates it was made from.
  'pod-template-generation',
  // An annotation of a ReplicaSet: whether it was still there when its template became the newest one again.
  'deployment.kubernetes.io/revision-history',
  // An annotation of a claim: the node that the scheduler chose.
  'volume.kubernetes.io/selected-node',
  // Fields of EndpointSlices and Endpoints. An invariant compares them with the pods.
  'endpoints',
  'subsets',
  'endpoints.kubernetes.io/last-change-trigger-time',
]);

const LAST_SCALED: ReadonlySet<string> = new Set([
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
]);

/** The addresses of pods and Services. */
const ADDRESS = /"10\.\d+\.\d+\.\d+"/g;
/** Uids occur in labels and selectors too. */
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** When a PodDisruptionBudget cannot be counted, its message names one pod, whose name is random. */
const NAMED_POD = /(?<=found no controllers for pod )\\"[^"]*\\"/;

/** The end of a history. */
export interface EndState {
  /** One line for each object. */
  lines(): readonly string[];
  /**
   * The storage classes of volumes that were given to a claim which was already deleted, and are not given to another one, as in Kubernetes.
   * Which claims of such a class have a volume is chance.
   */
  wastedClasses(): readonly string[];
}

/**
 * Follows a world from its beginning. The lines describe the end of the history so that two runs can be compared: one line for each object,
 * without uids, times and random suffixes. Pods are counted for each owner, since their names are random. A Job's pod that was evicted after
 * it had succeeded, or that succeeded during its eviction, counts as if it still existed, because it is random which node it ran on and
 * whether that node is lost. A pod does not count if its Job counted it as failed before it succeeded, or released it as surplus: the Job
 * has replaced it.
 */
export function followEndState(world: World): EndState {
  /** The uids of claims that were given a volume when they were already deleted. */
  const late = new Set<string>();
  const evicted: Pod[] = [];
  /** The uids of pods that Jobs have counted as failed or do not count. */
  const replaced = new Set<string>();
  const isReplaced = (object: KubeObject) => replaced.has(object.metadata.uid ?? '') && isOwnerThere(world, object);
  world.subscribe((change) => {
    const given = newReference(change);
    if (given !== undefined && !isClaimThere(world, given)) late.add(given.uid ?? '');
    if (isOf(change, JOBS)) for (const uid of countedAsFailed(change.object)) replaced.add(uid);
    if (isRelease(change)) replaced.add(change.object?.metadata.uid ?? '');
    if (isEvictionOfSucceeded(change)) evicted.push(beforeDeletion(change.old as Pod));
  });
  const lines = () => {
    const lines: string[] = [];
    for (const [resource, object] of world.everything()) {
      if (!UNCOMPARED.has(resource) && !isByChance(world, resource, object) && !isReplaced(object))
        lines.push(lineOf(world, resource, object));
    }
    const stays = (pod: Pod) => isOwnerThere(world, pod) && !isByChance(world, '/pods', pod) && !isReplaced(pod);
    const kept = evicted.filter(stays);
    return [...lines, ...kept.map((pod) => lineOf(world, '/pods', pod))].sort();
  };
  const wastedClasses = () =>
    world
      .all(PERSISTENT_VOLUMES)
      .filter(({ spec, status }) => status?.phase === 'Released' && late.has(spec?.claimRef?.uid ?? ''))
      .map(({ spec }) => spec?.storageClassName ?? '');
  return { lines, wastedClasses };
}

function lineOf(world: World, resource: string, object: KubeObject): string {
  const { namespace = '', name = '' } = object.metadata;
  const shownName = nameOf(object, name);
  const shown =
    resource === '/pods'
      ? podOf(object)
      : JSON.stringify(masked(withoutPast(world, object))).replaceAll(name, shownName);
  return `${resource} ${namespace}/${shownName} ${shown}`
    .replaceAll(UID, 'uid')
    .replaceAll(ADDRESS, '"ip"')
    .replace(NAMED_POD, '');
}

/**
 * An old ReplicaSet without pods keeps the annotations from when its Deployment last scaled it, as in Kubernetes. Whether an autoscaler
 * acted before a rollout is random, so these annotations are removed here. The newest ReplicaSet has the values that the Deployment wants
 * now.
 */
function withoutPast(world: World, object: KubeObject): KubeObject {
  const { kind, metadata, spec } = object as ReplicaSet;
  if (kind !== 'ReplicaSet' || spec?.replicas !== 0 || isNewest(world, object)) return object;
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => !LAST_SCALED.has(key));
  return { ...object, metadata: { ...metadata, annotations: Object.fromEntries(kept) } };
}

/** Whether no other ReplicaSet of the same Deployment has a later revision. */
function isNewest(world: World, set: KubeObject): boolean {
  const owner = controllerOf(set)?.uid;
  const others = world.all(REPLICA_SETS).filter((other) => controllerOf(other)?.uid === owner);
  return others.every((other) => revisionOf(other) <= revisionOf(set));
}

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[REVISION] ?? 0);
}

/**
 * The uids of the failed pods that a Job is about to count. With `TerminatingOrFailed` they include pods that are being deleted and still
 * run.
 */
function countedAsFailed(job: Job | undefined): readonly string[] {
  return job?.status?.uncountedTerminatedPods?.failed ?? [];
}

/**
 * Whether a Job's pod lost its finalizer before it ended. That is how a Job releases a pod that it does not count any more, just before it
 * deletes the pod.
 */
function isRelease(change: Change): boolean {
  if (!isOf(change, PODS) || change.object === undefined) return false;
  const { metadata, status }: Pod = change.object;
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false;
  return isTracked(change.old) && !isTracked({ metadata });
}

function isTracked(object: Pick<KubeObject, 'metadata'> | undefined): boolean {
  return object?.metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
}

/** Whether a succeeded pod is gone because of the taints of its node. As in Kubernetes, these delete ended pods too. */
function isEvictionOfSucceeded(change: Change): boolean {
  if (!isOf(change, PODS) || change.object !== undefined) return false;
  const { status }: Partial<Pod> = change.old ?? {};
  const isEvicted = status?.conditions?.some(({ reason }) => reason === 'DeletionByTaintManager') === true;
  return isEvicted && status?.phase === 'Succeeded';
}

/**
 * Returns a deleted pod as it would look if it still existed. The write that removed its last finalizer has deleted it, so no version
 * without finalizers was ever seen.
 */
function beforeDeletion(pod: Pod): Pod {
  const { deletionTimestamp: _, finalizers: __, ...metadata } = pod.metadata;
  return { ...pod, metadata };
}

function isOwnerThere(world: World, pod: KubeObject): boolean {
  const owner = controllerOf(pod);
  if (owner?.kind !== 'Job') return false;
  return jobOf(world, pod, owner.name)?.metadata.uid === owner.uid;
}

/** Whether a claim belongs to a pod that its StatefulSet does not want any more. Which sizes the set reached before is random. */
function isLeftOver(world: World, { metadata }: KubeObject): boolean {
  const [, setName, ordinal] = /^data-(statefulset-\d+)-(\d+)$/.exec(metadata.name ?? '') ?? [];
  if (setName === undefined) return false;
  return Number(ordinal) >= (world.get(STATEFUL_SETS, metadata.namespace ?? '', setName)?.spec?.replicas ?? 0);
}

type ClaimReference = NonNullable<NonNullable<PersistentVolume['spec']>['claimRef']>;

/** The reference to a claim that this change gives to a volume. */
function newReference(change: Change): ClaimReference | undefined {
  if (!isOf(change, PERSISTENT_VOLUMES)) return undefined;
  const referenceOf = (volume: PersistentVolume | undefined) => volume?.spec?.claimRef;
  const [now, before] = [referenceOf(change.object), referenceOf(change.old)];
  return now?.uid === before?.uid ? undefined : now;
}

function isClaimThere(world: World, { namespace = '', name = '', uid }: ClaimReference): boolean {
  const claim = world.get(PERSISTENT_VOLUME_CLAIMS, namespace, name);
  return claim?.metadata.uid === uid && claim?.metadata.deletionTimestamp === undefined;
}

function hasTarget(world: World, { metadata, spec }: HorizontalPodAutoscaler): boolean {
  return world.get(DEPLOYMENTS, metadata.namespace ?? '', spec.scaleTargetRef.name) !== undefined;
}

function jobOf(world: World, { metadata }: KubeObject, name: string): Job | undefined {
  return world.get(JOBS, metadata.namespace ?? '', name);
}

/**
 * Whether the end state of an object is random. It depends on timing how many pods of a Job fail, which schedules of a CronJob fall into a
 * history, what an autoscaler last saw of a deleted Deployment, and which claims are left of pods that a StatefulSet does not have any
 * more. Local volumes are named after the uids of their claims. An invariant compares them with the claims.
 */
function isByChance(world: World, resource: string, object: KubeObject): boolean {
  const owner = controllerOf(object);
  if (resource === 'autoscaling/horizontalpodautoscalers') return !hasTarget(world, object as HorizontalPodAutoscaler);
  if (resource === '/persistentvolumeclaims' && isLeftOver(world, object)) return true;
  if (resource === '/persistentvolumes' && object.metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH) return true;
  if (owner?.kind === 'CronJob') return true;
  if (resource !== '/pods' || owner?.kind !== 'Job') return false;
  const job = jobOf(world, object, owner.name);
  const isScheduled = job !== undefined && controllerOf(job)?.kind === 'CronJob';
  return isScheduled || (object as KubeObject & { status?: { phase?: string } }).status?.phase === 'Failed';
}

/** The name with `*` instead of the suffix that the server generated. */
function nameOf({ metadata }: KubeObject, name: string): string {
  const prefix = metadata.generateName;
  return prefix === undefined || !name.startsWith(prefix) ? name : `${prefix}*`;
}

/** Describes what a controller decides about a pod, and the pod's progress. */
function podOf(object: KubeObject): string {
  const { metadata, spec, status } = object as KubeObject & {
    spec?: { containers?: { image?: string }[] };
    status?: { phase?: string; conditions?: { type: string; status: string }[] };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'unknown';
  const owner = controllerOf(object)?.name ?? 'none';
  const { labels = {}, annotations = {}, finalizers = [] } = metadata;
  const image = spec?.containers?.map(({ image: one }) => one).join();
  const leaving = metadata.deletionTimestamp === undefined ? '' : ' leaving';
  // The progress of an update is random for pods without an owner.
  if (owner === 'none') return `of none ${status?.phase} ready=${ready}${leaving} ${JSON.stringify(finalizers)}`;
  const shown = JSON.stringify({ labels: masked(labels), annotations: masked(annotations), finalizers });
  return `of ${owner} ${image} ${status?.phase} ready=${ready}${leaving} ${shown}`;
}

/** The value without masked fields and times, and with sorted keys. */
function masked(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .filter((item) => !isPassing(item))
      .map(masked)
      .sort(byType);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value)
    .filter(([key]) => !MASKED.has(key) && !/(Time|Timestamp)$/.test(key))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const shown = entries.map(([key, inner]) => [key, masked(inner)] as const);
  return Object.fromEntries(shown.filter(([key, inner]) => key !== 'annotations' || !equalJson(inner, {})));
}

/**
 * Whether this is the condition `Suspended` of a Job. A Job may be suspended only briefly, or as it ends, and then its controller may not
 * see it.
 */
function isPassing(value: unknown): boolean {
  return ((value ?? {}) as { type?: unknown }).type === 'Suspended';
}

/** Sorts conditions by type, since their order is the one in which they became known. The order of other lists is kept. */
function byType(one: unknown, other: unknown): number {
  const [left, right] = [typeOf(one), typeOf(other)];
  return left === right ? 0 : left < right ? -1 : 1;
}

function typeOf(value: unknown): string {
  const isCondition = value !== null && typeof value === 'object' && 'type' in value && 'status' in value;
  return isCondition ? String(value.type) : '';
}
