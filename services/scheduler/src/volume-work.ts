import { errorMessage } from '@gantry/base';
import type { ObjectWrite, WriteSender } from '@gantry/client';
import type { Log } from '@gantry/controller-runtime';
import {
  BOUND_BY_CONTROLLER,
  isReason,
  keyOf,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SELECTED_NODE,
  StatusError,
} from '@gantry/objects';
import type { ClusterView } from './cluster-view.ts';
import type { PodInfo } from './framework/pod-info.ts';
import {
  VOLUME_BINDING,
  chooseVolumes,
  hasDelayedClaims,
  isUnderWay,
  type VolumeChoice,
  volumeReasons,
} from './framework/claimed-volumes.ts';
import type { SchedulingQueue } from './queue.ts';
import type { Assignment } from './plan.ts';
import { resultsOf } from './writes.ts';

/** The parts of a scheduler that the binding of volumes uses. */
export interface VolumeWorkOptions {
  readonly client: Pick<WriteSender, 'batch'>;
  readonly view: ClusterView;
  readonly queue: SchedulingQueue;
  readonly log: Log;
}

const WAITS_FOR_VOLUMES: ReadonlySet<string> = new Set([VOLUME_BINDING]);

/**
 * Returns the pods that a cycle decides on, with the present state of their volumes. A pod whose volumes are still being made keeps its
 * room and continues to wait. Of the pods that need volumes to be chosen, a cycle takes only one, so that the next cycle sees what was
 * chosen.
 */
export function sortByVolumes(view: ClusterView, queue: SchedulingQueue, pods: readonly PodInfo[]): readonly PodInfo[] {
  const ready: PodInfo[] = [];
  let chooses = false;
  for (const one of pods) {
    const pod = view.withVolumes(one);
    if (isWaitingForVolumes(view, pod)) queue.waits(pod, WAITS_FOR_VOLUMES);
    else if (!hasDelayedClaims(pod.volumes)) ready.push(pod);
    else if (chooses) queue.postpone(pod);
    else {
      chooses = true;
      ready.push(pod);
    }
  }
  return ready;
}

/** Whether volumes for a pod are being bound or made for its node. A pod that no longer fits there gives its room back. */
function isWaitingForVolumes({ keeper }: ClusterView, pod: PodInfo): boolean {
  const { volumes } = pod;
  const nodeName = keeper.assumedNode(pod);
  if (volumes === undefined || nodeName === undefined) return false;
  // The caches of claims and volumes are not synchronised, so a volume that was just made may not be in the cache yet.
  if (volumes.kind === 'claims' && volumes.bound.includes(undefined)) return true;
  const node = keeper.node(nodeName)?.node;
  const fits = node !== undefined && volumeReasons(volumes, node).length === 0;
  const isWaiting = volumes.kind === 'claims' && volumes.delayed.length > 0 && isUnderWay(volumes.delayed, nodeName);
  if (fits && isWaiting) return true;
  if (!fits || hasDelayedClaims(volumes)) keeper.forget(pod);
  return false;
}

/**
 * Begins to bind the volumes that were chosen together with a node. It reserves volumes that exist, and tells the provisioners of the
 * others which node was chosen. Such a pod keeps its room and waits until its claims are bound. Returns the assignments that need no
 * volumes.
 */
export async function bindVolumes(
  options: VolumeWorkOptions,
  assignments: readonly Assignment[],
  signal: AbortSignal,
): Promise<readonly Assignment[]> {
  const ready: Assignment[] = [];
  for (const assignment of assignments) {
    if (hasDelayedClaims(assignment.pod.volumes)) await bindVolumesOf(options, assignment, signal);
    else ready.push(assignment);
  }
  return ready;
}

async function bindVolumesOf(
  { client, view, queue, log }: VolumeWorkOptions,
  { pod, nodeName }: Assignment,
  signal: AbortSignal,
): Promise<void> {
  const node = view.keeper.node(nodeName)?.node;
  const choice =
    pod.volumes?.kind === 'claims' && node !== undefined ? chooseVolumes(pod.volumes.delayed, node) : undefined;
  // The node is gone, or no volumes can be chosen for it any more.
  if (choice === undefined || node === undefined) {
    queue.failed(pod);
    return;
  }
  const writes = writesOf(choice, node);
  view.keeper.assume(pod, nodeName);
  const results = await resultsOf(() => client.batch(writes, signal), writes.length);
  for (const [i, result] of results.entries()) {
    if (!result.ok) continue;
    if (writes[i]?.resource === PERSISTENT_VOLUMES) view.volumes.volumes.written(result.object);
    else view.volumes.claims.written(result.object);
  }
  const failed = results.find((result) => !result.ok);
  if (failed === undefined) {
    queue.waits(pod, WAITS_FOR_VOLUMES);
    return;
  }
  // The writes that succeeded stay. The next attempt continues from there.
  view.keeper.forget(pod);
  const error = StatusError.fromStatus(failed.status);
  const fields = { pod: pod.key, reason: errorMessage(error) };
  if (isReason(error, 'Conflict')) log.debug(fields, 'choosing volumes met a conflict');
  else log.warn(fields, 'choosing volumes failed');
  queue.failed(pod, error);
}

/** The writes for a choice of volumes. Each one fails if its object has changed since the decision. */
function writesOf({ bind, provision }: VolumeChoice, node: Node): readonly ObjectWrite[] {
  const patchType = 'application/merge-patch+json';
  const reservations = bind.map(({ claim, volume }): ObjectWrite => {
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    const reference = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion };
    const marks = volume.spec?.claimRef === undefined ? { annotations: { [BOUND_BY_CONTROLLER]: 'yes' } } : {};
    const metadata = { uid: volume.metadata.uid, resourceVersion: volume.metadata.resourceVersion, ...marks };
    const patch = { metadata, spec: { claimRef: reference } };
    return { verb: 'patch', resource: PERSISTENT_VOLUMES, key: keyOf(volume), patch, patchType };
  });
  const requests = provision.map((claim): ObjectWrite => {
    const { uid, resourceVersion } = claim.metadata;
    const annotations = { [SELECTED_NODE]: node.metadata.name };
    const patch = { metadata: { uid, resourceVersion, annotations } };
    return { verb: 'patch', resource: PERSISTENT_VOLUME_CLAIMS, key: keyOf(claim), patch, patchType };
  });
  return [...reservations, ...requests];
}
