import {
  controllerOf,
  type Deployment,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  NODES,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
  resolveIntOrPercent,
} from '@gantry/objects';
import { isReady } from '../readiness.ts';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/** The highest and lowest number of pods that a spec allows. */
interface Bounds {
  readonly most: number;
  readonly least: number;
}

/** What is known of one Deployment since it was last at rest. */
interface Rollout {
  /** The widest bounds of all its specs since then. */
  bounds: Bounds;
  /** How many seconds a pod has to be ready before it is available. */
  minReadySeconds: number;
  /** Of its last spec. */
  replicas: number;
  /**
   * Whether pods became unready or unavailable or ended, other than through deletion by a controller, or its scale changed: its sets are then
   * scaled in proportion, whatever is available, as in Kubernetes (`scale` of pkg/controller/deployment/sync.go).
   */
  disturbed: boolean;
}

/**
 * During a rollout, a Deployment has at most desired + maxSurge pods. Deletions leave at least desired - maxUnavailable pods available. The
 * bounds are the widest of all specs since the Deployment was last at rest, because a controller may act on what it saw before the last
 * change. The lower bound is not checked while pods fail by themselves, nor after the Deployment was scaled during a rollout.
 */
export const rolloutInvariant: Invariant = {
  name: 'I14: a rollout stays within maxSurge and maxUnavailable',
  watch: (world, report) => {
    const rollouts = new Map<string, Rollout>();
    world.subscribe((change) => {
      if (isOf(change, DEPLOYMENTS)) takeDeployment(rollouts, world, change);
      else if (isOf(change, PODS)) takePod(rollouts, world, change, report);
    });
  },
};

function takeDeployment(rollouts: Map<string, Rollout>, world: World, { object, old }: Change): void {
  const uid = (object ?? old)?.metadata.uid ?? '';
  if (object === undefined || object.metadata.uid !== old?.metadata.uid) rollouts.delete(old?.metadata.uid ?? '');
  if (object === undefined) return;
  const now = boundsOf(object);
  const known = rollouts.get(uid);
  const { minReadySeconds = 0, replicas = 1 } = (object as Deployment).spec ?? {};
  if (known === undefined || isAtRest(world, object)) {
    rollouts.set(uid, { bounds: now, minReadySeconds, replicas, disturbed: false });
    return;
  }
  const { most, least } = known.bounds;
  known.bounds = { most: Math.max(most, now.most), least: Math.min(least, now.least) };
  // Some pods are not available any more, although nothing has happened to them.
  if (minReadySeconds > known.minReadySeconds) known.disturbed = true;
  if (replicas !== known.replicas && isRollingOut(world, object)) known.disturbed = true;
  known.minReadySeconds = minReadySeconds;
  known.replicas = replicas;
}

function takePod(rollouts: Map<string, Rollout>, world: World, change: Change, report: (text: string) => void): void {
  const deployment = deploymentOf(world, (change.object ?? change.old) as Pod);
  const rollout = rollouts.get(deployment?.metadata.uid ?? '');
  if (deployment === undefined || rollout === undefined) return;
  const [pod, old] = [change.object, change.old];
  const pods = podsOf(world, deployment);
  const wanted = old === undefined ? countWanted(world, pods) : 0;
  if (wanted > rollout.bounds.most) {
    report(`${describeChange(change)}: pod ${wanted} of ${nameOf(deployment)}, at most ${rollout.bounds.most}`);
  }
  if (old === undefined || !isReady(old) || old.metadata.deletionTimestamp !== undefined) return;
  if (pod?.metadata.deletionTimestamp === undefined) {
    if (pod === undefined || !isReady(pod)) rollout.disturbed = true;
    return;
  }
  if (isEvicting(world, old) || isDisrupted(pod)) rollout.disturbed = true;
  const { own, left, reported } = countLeft(world, deployment, ownerOf(world, old, REPLICA_SETS));
  // A Deployment removes unavailable pods regardless of its bound. These pods are ready, but not for minReadySeconds yet.
  if (own >= reported) return;
  if (rollout.disturbed || isEnding(world, deployment) || left >= rollout.bounds.least) return;
  report(
    `${describeChange(change)}: ${nameOf(deployment)} has ${left} available pods left, at least ${rollout.bounds.least}`,
  );
}

/**
 * The number of pods without those that a ReplicaSet still has to remove: it has not observed its last size yet, or reports that it had more
 * pods, and could not delete all of them. A Deployment counts the sizes of its sets, as in Kubernetes, and uses the room while the deletion
 * is retried.
 */
function countWanted(world: World, pods: readonly Pod[]): number {
  const bySet = Map.groupBy(pods, (pod) => ownerOf(world, pod, REPLICA_SETS));
  let count = 0;
  for (const [set, own] of bySet) {
    const { observedGeneration, replicas: reported = 0 } = set?.status ?? {};
    const { replicas = 1 } = set?.spec ?? {};
    const isSettled = observedGeneration === set?.metadata.generation && reported <= replicas;
    count += isSettled ? own.length : Math.min(own.length, replicas);
  }
  return count;
}

/** What is left when a set deletes a pod. */
interface Left {
  /** The number of ready pods of the set. */
  readonly own: number;
  /** `own` plus the available pods of the other sets. */
  readonly left: number;
  /** The number of available pods that the set last reported. */
  readonly reported: number;
}

/**
 * Counts what is left when a set deletes a pod: its own ready pods, which it has to know, and the available pods that the other sets
 * report, without those that they still have to remove. A Deployment relies on these reports, as in Kubernetes
 * (pkg/controller/deployment/rolling.go). A set that is scaled down and up again may still report a pod that it has deleted.
 */
function countLeft(world: World, deployment: Deployment, deleting: ReplicaSet | undefined): Left {
  const ready = podsOf(world, deployment).filter(isReady);
  const own = ready.filter((pod) => ownerOf(world, pod, REPLICA_SETS) === deleting).length;
  const others = world
    .all(REPLICA_SETS)
    .filter((set) => set !== deleting && ownerOf(world, set, DEPLOYMENTS) === deployment);
  const left = others.reduce(
    (sum, { spec, status }) => sum + Math.min(spec?.replicas ?? 1, status?.availableReplicas ?? 0),
    own,
  );
  return { own, left, reported: deleting?.status?.availableReplicas ?? 0 };
}

/** Whether the pod's node evicts its pods with a taint. */
function isEvicting(world: World, pod: Pod): boolean {
  const taints = world.get(NODES, '', pod.spec?.nodeName ?? '')?.spec?.taints ?? [];
  return taints.some(({ effect }) => effect === 'NoExecute');
}

/** Whether the pod is deleted because of its node or a user, and not by its set. */
function isDisrupted({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'DisruptionTarget' && is === 'True') ?? false;
}

function isEnding(world: World, { metadata }: Deployment): boolean {
  const namespace = world.get(NAMESPACES, '', metadata.namespace ?? '');
  return (metadata.deletionTimestamp ?? namespace?.metadata.deletionTimestamp) !== undefined;
}

/** The pods of the Deployment's ReplicaSets that are neither terminating nor ended. */
function podsOf(world: World, deployment: Deployment): readonly Pod[] {
  const owned = world.all(PODS).filter((pod) => deploymentOf(world, pod) === deployment);
  return owned.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status?.phase !== 'Succeeded' && status?.phase !== 'Failed',
  );
}

function deploymentOf(world: World, pod: Pod): Deployment | undefined {
  const replicaSet = ownerOf(world, pod, REPLICA_SETS);
  return replicaSet === undefined ? undefined : ownerOf(world, replicaSet, DEPLOYMENTS);
}

function ownerOf<T extends KubeObject>(
  world: World,
  object: KubeObject,
  resource: Parameters<typeof world.get<T>>[0],
): T | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== resource.kind) return undefined;
  const owner = world.get(resource, object.metadata.namespace ?? '', reference.name);
  return owner?.metadata.uid === reference.uid ? owner : undefined;
}

function boundsOf({ spec }: Deployment): Bounds {
  const { replicas = 1, strategy } = spec ?? { replicas: 1 };
  if (strategy?.type === 'Recreate') return { most: replicas, least: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = resolveIntOrPercent(maxSurge, replicas, 'up');
  const unavailable = resolveIntOrPercent(maxUnavailable, replicas, 'down');
  return { most: replicas + surge, least: replicas - Math.max(unavailable, surge === 0 ? 1 : 0) };
}

/** Whether it has pods of several sets, which are then scaled in proportion. */
function isRollingOut(world: World, deployment: Deployment): boolean {
  return new Set(podsOf(world, deployment).map((pod) => ownerOf(world, pod, REPLICA_SETS))).size > 1;
}

function isAtRest(world: World, deployment: Deployment): boolean {
  const { spec, status, metadata } = deployment;
  const { replicas = 1 } = spec ?? {};
  const { observedGeneration, updatedReplicas = 0, availableReplicas = 0, replicas: all = 0 } = status ?? {};
  const counts = [updatedReplicas, availableReplicas, all, podsOf(world, deployment).length];
  return observedGeneration === metadata.generation && counts.every((count) => count === replicas);
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
