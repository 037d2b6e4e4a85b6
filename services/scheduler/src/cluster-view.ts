import {
  claimsOfPod,
  hasEnded,
  type KubeObject,
  type Node,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Pod,
  PODS,
  STORAGE_CLASSES,
  type StorageClass,
} from '@gantry/objects';
import type { InformerEvent } from '@gantry/controller-runtime';
import { createPodInfo, type PodInfo } from './framework/pod-info.ts';
import type { ClusterChange } from './framework/plugin.ts';
import { FILTERS } from './plugins/registry.ts';
import type { SchedulingQueue } from './queue.ts';
import { type NodeInfo, SnapshotKeeper } from './framework/snapshot.ts';
import { VolumeKeeper } from './framework/volume-keeper.ts';

/** What the scheduler's caches hold. */
export const SCHEDULED_RESOURCES = [NODES, PODS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES];
const SCHEDULER_NAME = 'default-scheduler';

/**
 * Keeps the snapshot and the queue in step with the caches: pods without a node are queued, pods with one count on it, and a
 * change that may help a refused pod queues it again.
 */
export class ClusterView {
  readonly keeper = new SnapshotKeeper();
  readonly volumes = new VolumeKeeper();
  readonly #queue: SchedulingQueue;

  constructor(queue: SchedulingQueue) {
    this.#queue = queue;
  }

  /** Takes what the caches report, in order. */
  take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    for (const { object, old } of event.changes) {
      switch (event.resource.resource) {
        case NODES.resource:
          this.#takeNode(object, old);
          break;
        case PODS.resource:
          this.#takePod(object, old);
          break;
        default:
          this.#takeStorage(event.resource.resource, object, old);
      }
    }
  }

  /** A pod with the present state of its volumes, for a cycle. */
  withVolumes(info: PodInfo): PodInfo {
    const volumes = this.volumes.podVolumes(info.pod, (claim) => this.#isClaimUsed(claim, info.key));
    return volumes === undefined ? info : { ...info, volumes };
  }

  #isClaimUsed(claim: string, byOthersThan: string): boolean {
    return this.keeper.hasOther(byOthersThan, ({ pod }) =>
      claimsOfPod(pod).some((name) => `${pod.metadata.namespace ?? ''}/${name}` === claim),
    );
  }

  #takeStorage(resource: string, object: KubeObject | undefined, old: KubeObject | undefined): void {
    if (resource === PERSISTENT_VOLUME_CLAIMS.resource) {
      this.volumes.claims.take(object, old);
      const claim = object ?? old;
      if (claim !== undefined) this.#move({ kind: 'claim-changed', claim });
    } else if (resource === PERSISTENT_VOLUMES.resource) {
      this.volumes.volumes.take(object, old);
      this.#move({ kind: 'volume-changed' });
    } else {
      this.volumes.takeClass(object as StorageClass | undefined, old as StorageClass | undefined);
      this.#move({ kind: 'class-changed' });
    }
  }

  /** Queues every pod that waits for a node: a new leader begins with all of them. */
  requeue(pods: readonly KubeObject[]): void {
    this.#queue.clear();
    this.keeper.forgetAll();
    for (const pod of pods as readonly Pod[]) if (isWaiting(pod)) this.#enqueue(pod);
  }

  #takeNode(node: Node | undefined, old: Node | undefined): void {
    const name = (node ?? old)?.metadata.name ?? '';
    if (node === undefined) {
      this.keeper.removeNode(name);
      return;
    }
    const before = this.#nodeInfo(name);
    this.keeper.setNode(node);
    const after = this.#nodeInfo(name);
    if (after === undefined) return;
    this.#move(
      before === undefined ? { kind: 'node-added', node: after } : { kind: 'node-changed', node: after, old: before },
    );
  }

  #takePod(pod: Pod | undefined, old: Pod | undefined): void {
    const subject = pod ?? old;
    if (subject === undefined) return;
    const key = `${subject.metadata.namespace ?? ''}/${subject.metadata.name ?? ''}`;
    const before = this.keeper.placed(key);
    if (pod === undefined) this.keeper.removePod(key);
    else this.keeper.setPod(pod);
    if (pod !== undefined && isWaiting(pod) && !this.keeper.isAssumed(key)) this.#enqueue(pod);
    else if (pod === undefined || !isWaiting(pod)) this.#queue.remove(key);
    const left = old !== undefined && takesRoom(old) && (pod === undefined || !takesRoom(pod));
    if (left) this.#move({ kind: 'pod-gone', pod: createPodInfo(old) });
    else if (holdsLess(this.keeper.placed(key), before)) this.#move({ kind: 'pod-shrunk' });
  }

  #enqueue(pod: Pod): void {
    this.#queue.put(createPodInfo(pod));
  }

  #move(change: ClusterChange): void {
    this.#queue.move((info: PodInfo, refusedBy: ReadonlySet<string>) =>
      refusedBy.size === 0
        ? change.kind === 'node-added'
        : FILTERS.some((plugin) => refusedBy.has(plugin.name) && plugin.helps(change, info)),
    );
  }

  #nodeInfo(name: string): NodeInfo | undefined {
    return this.keeper.node(name);
  }
}

/** Whether a pod wants a node from this scheduler. */
export function isWaiting(pod: Pod): boolean {
  const { nodeName = '', schedulerName = SCHEDULER_NAME, schedulingGates = [] } = pod.spec ?? {};
  return (
    nodeName === '' &&
    (schedulerName === '' || schedulerName === SCHEDULER_NAME) &&
    schedulingGates.length === 0 &&
    pod.metadata.deletionTimestamp === undefined &&
    !hasEnded(pod)
  );
}

/** Whether a pod has been resized on its node and left room. */
function holdsLess(now: PodInfo | undefined, before: PodInfo | undefined): boolean {
  if (now === undefined || before === undefined) return false;
  return Object.entries(before.requests).some(([name, amount]) => amount > (now.requests[name] ?? 0));
}

function takesRoom(pod: Pod): boolean {
  return (pod.spec?.nodeName ?? '') !== '' && !hasEnded(pod);
}
