import {
  claimsOfPod,
  equalJson,
  hasEnded,
  type KubeObject,
  NAMESPACES,
  type Node,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Pod,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  PODS,
  type Service,
  SERVICES,
  STORAGE_CLASSES,
  type StorageClass,
} from '@gantry/objects';
import { type InformerEvent, parseVersion } from '@gantry/controller-runtime';
import { createPodInfo, nominatedNode, type PodInfo } from './framework/pod-info.ts';
import type { ClusterChange } from './framework/plugin.ts';
import { FILTERS } from './plugins/registry.ts';
import type { SchedulingQueue } from './queue.ts';
import type { NodeInfo } from './framework/node-info.ts';
import { SnapshotKeeper } from './framework/snapshot.ts';
import { VolumeKeeper } from './framework/volume-keeper.ts';

/** The resources that the scheduler caches. */
export const SCHEDULED_RESOURCES = [
  NODES,
  PODS,
  NAMESPACES,
  POD_DISRUPTION_BUDGETS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  SERVICES,
];
const SCHEDULER_NAME = 'default-scheduler';
const FILTER_OF = new Map(FILTERS.map((filter) => [filter.name, filter]));

/**
 * Keeps the snapshot and the queue in step with the caches. A pod without a node is queued, and a pod with one counts on its node. A change
 * that may help a refused pod puts that pod into the queue again.
 */
export class ClusterView {
  readonly keeper = new SnapshotKeeper();
  readonly volumes = new VolumeKeeper();
  readonly #queue: SchedulingQueue;
  /** The responses to our own writes of pods, by the pod's key, as long as they are newer than what the cache shows. */
  readonly #written = new Map<string, Pod>();

  constructor(queue: SchedulingQueue) {
    this.#queue = queue;
  }

  /** Takes an event of the caches. Events have to arrive in order. */
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
        case POD_DISRUPTION_BUDGETS.resource:
          this.#takeBudget(object, old);
          break;
        case SERVICES.resource:
          this.#takeService(object, old);
          break;
        case NAMESPACES.resource:
          this.#takeNamespace(object, old);
          break;
        default:
          this.#takeStorage(event.resource.resource, object, old);
      }
    }
  }

  /** Returns the pod with the present state of its volumes, for one cycle. */
  withVolumes(info: PodInfo): PodInfo {
    const volumes = this.volumes.claimedVolumes(info.pod, (claim) => this.#isClaimUsed(claim, info.key));
    return volumes === undefined ? info : { ...info, volumes };
  }

  /**
   * Takes the response to our own write of a pod. From now on the pod counts as it was written, even while the cache shows an earlier
   * version. So a nomination reserves its room at once, and no pod is chosen as a victim twice.
   */
  written(pod: Pod): void {
    const key = keyOfPod(pod);
    const known = this.keeper.placed(key)?.pod ?? this.#queue.find(key)?.pod;
    if (known === undefined || known.metadata.uid !== pod.metadata.uid || isNewer(known, pod)) return;
    this.#written.set(key, pod);
    this.#applyPod(key, pod, known);
  }

  /** Gives back the room of a pod that was to be bound later. The pod is decided on again. */
  release(info: PodInfo): void {
    this.keeper.forget(info);
    this.#move({ kind: 'pod-gone', pod: info });
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

  /** Queues every pod that waits for a node. A new leader starts with all of them. */
  requeue(pods: readonly KubeObject[]): void {
    this.#queue.clear();
    this.keeper.forgetAll();
    this.#written.clear();
    for (const pod of pods as readonly Pod[]) if (isWaiting(pod)) this.#enqueue(pod);
  }

  #takeNode(node: Node | undefined, old: Node | undefined): void {
    const name = (node ?? old)?.metadata.name ?? '';
    const before = this.#nodeInfo(name);
    if (node === undefined) {
      this.keeper.removeNode(name);
      if (before !== undefined) this.#move({ kind: 'node-removed', node: before });
      return;
    }
    this.keeper.setNode(node);
    const after = this.#nodeInfo(name);
    if (after === undefined) return;
    this.#move(
      before === undefined ? { kind: 'node-added', node: after } : { kind: 'node-changed', node: after, old: before },
    );
  }

  #takeBudget(budget: PodDisruptionBudget | undefined, old: PodDisruptionBudget | undefined): void {
    const { namespace = '', name = '' } = (budget ?? old)?.metadata ?? {};
    this.keeper.setBudget(`${namespace}/${name}`, budget);
  }

  #takeService(service: Service | undefined, old: Service | undefined): void {
    // Services only rank nodes, so they help no refused pod.
    const { namespace = '', name = '' } = (service ?? old)?.metadata ?? {};
    this.keeper.setService(`${namespace}/${name}`, service);
  }

  #takeNamespace(namespace: KubeObject | undefined, old: KubeObject | undefined): void {
    const name = (namespace ?? old)?.metadata.name ?? '';
    const before = this.keeper.namespaces.get(name);
    const labels = namespace === undefined ? undefined : (namespace.metadata.labels ?? {});
    if (equalJson(labels ?? null, before ?? null)) return;
    this.keeper.setNamespace(name, labels);
    this.#move({ kind: 'namespace-changed', name, labels: labels ?? {}, old: before ?? {} });
  }

  #takePod(reported: Pod | undefined, old: Pod | undefined): void {
    const subject = reported ?? old;
    if (subject === undefined) return;
    const key = keyOfPod(subject);
    this.#applyPod(key, this.#newest(key, reported), old);
  }

  #applyPod(key: string, pod: Pod | undefined, old: Pod | undefined): void {
    const before = this.keeper.placed(key);
    if (pod === undefined) this.keeper.removePod(key);
    else this.keeper.setPod(pod);
    if (pod !== undefined && isWaiting(pod) && !this.keeper.isAssumed(key)) this.#enqueue(pod);
    else if (pod === undefined || !isWaiting(pod)) this.#queue.remove(key);
    this.#reportPlacement(pod, old, { now: this.keeper.placed(key), before });
    this.#takeNomination(key, pod);
  }

  /** Tells the queue how a change of a pod on a node may help waiting pods. */
  #reportPlacement(
    pod: Pod | undefined,
    old: Pod | undefined,
    { now, before }: { readonly now: PodInfo | undefined; readonly before: PodInfo | undefined },
  ): void {
    const took = old !== undefined && takesRoom(old);
    const takes = now !== undefined && pod !== undefined && takesRoom(pod);
    const isSame = old?.metadata.uid === pod?.metadata.uid;
    if (took && !(takes && isSame)) this.#move({ kind: 'pod-gone', pod: createPodInfo(old) });
    if (takes && !(took && isSame)) this.#move({ kind: 'pod-placed', pod: now });
    if (!takes || !took || !isSame) return;
    if (holdsLess(now, before)) this.#move({ kind: 'pod-shrunk' });
    if (!equalJson(old.metadata.labels ?? {}, pod.metadata.labels ?? {}))
      this.#move({ kind: 'pod-relabelled', pod: now, old: createPodInfo(old) });
  }

  /** Returns what was written last as long as the cache shows an earlier version of the same pod, and otherwise what the cache reported. */
  #newest(key: string, reported: Pod | undefined): Pod | undefined {
    const written = this.#written.get(key);
    if (written === undefined) return reported;
    if (written.metadata.uid === reported?.metadata.uid && reported !== undefined && isNewer(written, reported))
      return written;
    this.#written.delete(key);
    return reported;
  }

  /** Follows a pod's nomination. When it ends and the pod did not go to that node, the room there is free again. */
  #takeNomination(key: string, pod: Pod | undefined): void {
    const before = this.keeper.nominated(key);
    const isNominated = pod !== undefined && isWaiting(pod) && (pod.status?.nominatedNodeName ?? '') !== '';
    if (before === undefined && !isNominated) return;
    const now = isNominated ? createPodInfo(pod) : undefined;
    this.keeper.setNomination(key, now);
    if (before === undefined) return;
    const nodeName = now === undefined ? pod?.spec?.nodeName : nominatedNode(now);
    if (nodeName !== nominatedNode(before)) this.#move({ kind: 'pod-gone', pod: before });
  }

  #enqueue(pod: Pod): void {
    this.#queue.put(createPodInfo(pod));
  }

  #move(change: ClusterChange): void {
    this.#queue.move((info: PodInfo, refusedBy: ReadonlySet<string>) => {
      if (refusedBy.size === 0) return change.kind === 'node-added';
      // This runs for each change and each waiting pod, so it does not allocate a list.
      for (const name of refusedBy)
        if (FILTER_OF.get(name)?.helps(change, info, this.keeper.namespaces) === true) return true;
      return false;
    });
  }

  #nodeInfo(name: string): NodeInfo | undefined {
    return this.keeper.node(name);
  }
}

function keyOfPod({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

function isNewer(pod: Pod, than: Pod): boolean {
  return parseVersion(pod.metadata.resourceVersion) > parseVersion(than.metadata.resourceVersion);
}

/** Whether a pod waits for this scheduler to give it a node. */
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

/** Whether a pod on a node was resized so that it now takes less room. */
function holdsLess(now: PodInfo | undefined, before: PodInfo | undefined): boolean {
  if (now === undefined || before === undefined) return false;
  return Object.entries(before.requests).some(([name, amount]) => amount > (now.requests[name] ?? 0));
}

function takesRoom(pod: Pod): boolean {
  return (pod.spec?.nodeName ?? '') !== '' && !hasEnded(pod);
}
