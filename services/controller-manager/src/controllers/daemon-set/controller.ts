import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  resultOf,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  DAEMON_SETS,
  type DaemonSet,
  equalJson,
  formatKey,
  keyOf,
  type Node,
  NODES,
  type Pod,
  PODS,
  type Resource,
} from '@gantry/objects';
import { adopt, claimCandidates, mayAdopt, release, watchOwned } from '../../libraries/owned-objects.shell.ts';
import { changesCounts, collectingTimeMs, isActive } from '../../libraries/pods/pod-state.ts';
import { createPods, deletePods } from '../../libraries/pods/pod-writes.shell.ts';
import { createRevision, deleteRevision, renumberRevision } from '../../libraries/revisions/writes.shell.ts';
import { isRelevant, type NodeSurroundings, setsOfChangedNode, setsOfLostNode } from './node-changes.ts';
import { HASH_LABEL, type Placement, placementOf, targetNode } from './placement.ts';
import { type Action, type Deletion, planDaemonSet } from './plan.ts';

const SELECTING_ALL = 'This daemon set is selecting all pods. A non-empty selector is required.';

/** Keeps one pod of a DaemonSet on every node that its template allows. */
export function createDaemonSetController(): ControllerSpec {
  const failed = new FailedPods();
  const place = rememberedPlacement();
  const around = (name: string, cache: Cache): NodeSurroundings => ({
    sets: cache.list(DAEMON_SETS),
    placement: (set, node) => place(set)(node),
    bound: cache.onNode(PODS, name),
    unbound: () => cache.onNode(PODS, ''),
  });
  return {
    name: 'daemon-set',
    eventSource: 'daemonset-controller',
    watches: [
      watchSelf(DAEMON_SETS),
      watchOwned(PODS, DAEMON_SETS, { matters: concernsSet, delayMs: collectingMs }),
      watchOwned(CONTROLLER_REVISIONS, DAEMON_SETS),
      {
        resource: NODES,
        keys: (node, old, cache) => {
          const name = (node ?? old)?.metadata.name ?? '';
          if (node !== undefined) return isRelevant(node, old) ? setsOfChangedNode(node, old, around(name, cache)) : [];
          return old === undefined ? [] : setsOfLostNode(old, around(name, cache));
        },
      },
    ],
    begin: () => failed.reset(),
    reconcile: async (key, context, signal) => {
      const { cache, clock } = context;
      const set = cache.get(DAEMON_SETS, key);
      if (set === undefined) return {};
      const now = clock.now();
      const plan = planDaemonSet(
        {
          set,
          nodes: cache.list(NODES),
          pods: claimCandidates(set, PODS, cache),
          revisions: claimCandidates(set, CONTROLLER_REVISIONS, cache),
          failedUntil: (nodeName) => failed.waitsUntil(failedKey(set, nodeName), now),
        },
        now,
      );
      const isAdopting = plan.actions.some(({ kind }) => kind === 'adopt');
      if (isAdopting && !(await mayAdopt(context.client, DAEMON_SETS, set, signal))) return {};
      await new Shell(set, failed, context, signal).carryOut(plan.actions);
      return resultOf(plan, clock);
    },
  };
}

/** A new generation of the set resets the delay. */
function failedKey({ metadata, status }: DaemonSet, nodeName: string): string {
  return `${metadata.uid ?? ''}/${status?.observedGeneration ?? 0}/${nodeName}`;
}

/** Memoises the placement rules per version of a set, because many nodes may change. */
function rememberedPlacement(): (set: DaemonSet) => (node: Node) => Placement {
  const known = new WeakMap<DaemonSet, (node: Node) => Placement>();
  return (set) => {
    const place = known.get(set) ?? placementOf(set);
    known.set(set, place);
    return place;
  };
}

/** Executes one plan. */
class Shell {
  readonly #set: DaemonSet;
  readonly #failed: FailedPods;
  readonly #context: ControllerContext;
  readonly #signal: AbortSignal;

  constructor(set: DaemonSet, failed: FailedPods, context: ControllerContext, signal: AbortSignal) {
    this.#set = set;
    this.#failed = failed;
    this.#context = context;
    this.#signal = signal;
  }

  /** Throws the first failure of pod changes after the status has been written; other failures at once. */
  async carryOut(actions: readonly Action[]): Promise<void> {
    const failures: unknown[] = [];
    for (const action of actions) {
      const isPods = action.kind === 'createPods' || action.kind === 'deletePods';
      if (failures.length > 0 && !isPods && action.kind !== 'updateStatus') continue;
      try {
        // Writing the raised collision count to the status queues the set again.
        if ((await this.#perform(action)) === 'collided') return;
      } catch (error) {
        failures.push(error);
        if (!isPods) break;
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #perform(action: Action): Promise<'collided' | undefined> {
    const { client, events } = this.#context;
    const signal = this.#signal;
    switch (action.kind) {
      case 'adopt':
        await adopt(client, resourceOf(action.object), action.object, this.#set, signal);
        break;
      case 'release':
        await release(client, resourceOf(action.object), action.object, this.#set, signal);
        break;
      case 'createRevision':
        return await this.#createRevision(action.revision);
      case 'renumberRevision':
        await renumberRevision(client, action.revision, action.number, signal);
        break;
      case 'labelRevision':
        await this.#label(CONTROLLER_REVISIONS, action.revision, action.hash);
        break;
      case 'relabelPod':
        await this.#label(PODS, action.pod, action.hash);
        break;
      case 'deleteRevision':
        await deleteRevision(client, action.revision, signal);
        break;
      case 'createPods':
        await createPods(this.#set, action.pods, this.#context, signal);
        break;
      case 'deletePods':
        await this.#deletePods(action.deletions);
        break;
      case 'reportSelectingAll':
        events.event(this.#set, 'Warning', 'SelectingAll', SELECTING_ALL);
        break;
      case 'updateStatus':
        await ignoreNotFound(client.updateStatus(DAEMON_SETS, { ...this.#set, status: action.status }, signal));
        break;
    }
    return undefined;
  }

  /** After a collision, the status records it, and the next reconcile uses another name. */
  async #createRevision(revision: ControllerRevision): Promise<'collided' | undefined> {
    const { client } = this.#context;
    if ((await createRevision(client, revision, this.#signal)) !== undefined) return undefined;
    const { status } = this.#set;
    const collided = {
      ...(status ?? { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 }),
      collisionCount: (status?.collisionCount ?? 0) + 1,
    };
    await ignoreNotFound(client.updateStatus(DAEMON_SETS, { ...this.#set, status: collided }, this.#signal));
    return 'collided';
  }

  async #label<T extends Pod | ControllerRevision>(of: Resource<T>, object: NoInfer<T>, hash: string): Promise<void> {
    const merge = { metadata: { uid: object.metadata.uid, labels: { [HASH_LABEL]: hash } } };
    await ignoreNotFound(this.#context.client.patch(of, keyOf(object), { merge }, this.#signal));
  }

  async #deletePods(deletions: readonly Deletion[]): Promise<void> {
    const { clock, events } = this.#context;
    for (const { pod, nodeName, reason } of deletions) {
      if (reason === 'excess') continue;
      const found = `Found ${reason} daemon pod ${formatKey(keyOf(pod))} on node ${nodeName}, will try to`;
      if (reason === 'failed') {
        this.#failed.note(failedKey(this.#set, nodeName), clock.now());
        events.event(this.#set, 'Warning', 'FailedDaemonPod', `${found} kill it`);
      } else events.event(this.#set, 'Normal', 'SucceededDaemonPod', `${found} delete it`);
    }
    const pods = deletions.map(({ pod }) => pod);
    await deletePods(this.#set, pods, this.#context, this.#signal);
  }
}

function resourceOf(object: Pod | ControllerRevision): Resource<Pod | ControllerRevision> {
  return object.kind === 'Pod' ? PODS : CONTROLLER_REVISIONS;
}

/** Whether an update of a pod changes what its set counts or repairs. */
export function concernsSet(pod: Pod, old: Pod): boolean {
  return changesCounts(pod, old) || targetNode(pod) !== targetNode(old);
}

/**
 * Milliseconds that a change of a pod may wait until its set is reconciled. A node that needs a new pod, and a released or adopted pod,
 * does not wait.
 */
export function collectingMs(pod: Pod | undefined, old: Pod | undefined, set: DaemonSet | undefined): number {
  if (set === undefined || pod === undefined) return 0;
  if (old !== undefined && (isActive(old) !== isActive(pod) || !equalJson(pod.metadata.labels, old.metadata.labels)))
    return 0;
  const { desiredNumberScheduled = 0, currentNumberScheduled = 0 } = set.status ?? {};
  return collectingTimeMs(Math.max(desiredNumberScheduled, currentNumberScheduled));
}

const FIRST_MS = 1000;
const MAX_MS = 15 * 60_000;
/** After twice the longest delay without failures, a node starts from the first delay again. */
const FORGET_MS = 2 * MAX_MS;

interface Entry {
  readonly at: Instant;
  readonly delayMs: number;
}

/**
 * Delays between deletions of failed pods of one set on one node: from 1 second, doubling to 15 minutes, as in Kubernetes. Without them, a
 * kubelet that rejects a pod would make the controller replace it continuously.
 */
export class FailedPods {
  /** Entries in the order of their times. */
  readonly #entries = new Map<string, Entry>();

  reset(): void {
    this.#entries.clear();
  }

  /** When the next failed pod may be deleted; undefined if it may be deleted now. */
  waitsUntil(key: string, now: Instant): Instant | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const until = entry.at + entry.delayMs;
    return until > now ? until : undefined;
  }

  /** Records that a failed pod is deleted now. */
  note(key: string, now: Instant): void {
    for (const [old, { at }] of this.#entries) {
      if (now - at <= FORGET_MS) break;
      this.#entries.delete(old);
    }
    const known = this.#entries.get(key);
    this.#entries.delete(key);
    this.#entries.set(key, { at: now, delayMs: known === undefined ? FIRST_MS : Math.min(MAX_MS, known.delayMs * 2) });
  }
}
