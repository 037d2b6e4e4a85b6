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
  formatKey,
  keyOf,
  type Node,
  NODES,
  type Pod,
  PODS,
  type Resource,
} from '@gantry/objects';
import { adopt, claimCandidates, mayAdopt, release, watchOwned } from '../owned-objects.ts';
import { createPods, deletePods } from '../pods/pod-writes.shell.ts';
import { createRevision, deleteRevision, renumberRevision } from '../revisions/writes.shell.ts';
import { FailedPods } from './failed-pods.ts';
import { isRelevant, type NodeSurroundings, setsOfChangedNode, setsOfLostNode } from './node-changes.ts';
import { HASH_LABEL, type Placement, placementOf } from './placement.ts';
import { type Action, type Deletion, planDaemonSet } from './plan.ts';
import { collectingMs, concernsSet } from './pod-changes.ts';

const SELECTING_ALL = 'This daemon set is selecting all pods. A non-empty selector is required.';

/** Keeps one pod of a DaemonSet's template on every node that the template allows. */
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

/** A new generation of the set starts from the shortest delay again. */
function failedKey({ metadata, status }: DaemonSet, nodeName: string): string {
  return `${metadata.uid ?? ''}/${status?.observedGeneration ?? 0}/${nodeName}`;
}

/** The rules of each version of a set are put together once, however many nodes change. */
function rememberedPlacement(): (set: DaemonSet) => (node: Node) => Placement {
  const known = new WeakMap<DaemonSet, (node: Node) => Placement>();
  return (set) => {
    const place = known.get(set) ?? placementOf(set);
    known.set(set, place);
    return place;
  };
}

/** Carries out one plan. */
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

  /** Throws the first failure of changes of pods after the status has been written; any other one at once. */
  async carryOut(actions: readonly Action[]): Promise<void> {
    const failures: unknown[] = [];
    for (const action of actions) {
      const isPods = action.kind === 'createPods' || action.kind === 'deletePods';
      if (failures.length > 0 && !isPods && action.kind !== 'updateStatus') continue;
      try {
        // The status that raises the collision count queues the set again.
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

  /** After a collision the status says so, and the next look takes another name. */
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
