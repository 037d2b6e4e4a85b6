import { errorMessage, withDeadline } from '@gantry/base';
import { isReason, keyOf, type Lease, type Node, type ObjectKey } from '@gantry/api';
import {
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  watchMapped,
  watchSelf,
} from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { LEASES, NODES, PODS } from '../resources.ts';
import { Heartbeats } from './heartbeats.ts';
import { type Action, type ObservedNode, planNode } from './plan.ts';

const LEASE_NAMESPACE = 'kube-node-lease';
/** A look at the store that takes longer than this says more about the store than about the node. */
const VERIFY_MS = 1000;
const RECHECK_MS = 500;
/** How often a Node that others write meanwhile is read and planned anew at once, before it waits for its next turn. */
const ATTEMPTS = 5;

/** Watches over the agents' heartbeats: a silent node is unknown, tainted, and its pods are not ready. */
export function createNodeLifecycleController(options: { readonly graceMs: number }): ControllerSpec {
  const heartbeats = new Heartbeats(options.graceMs);
  return {
    name: 'node-lifecycle',
    eventSource: 'node-controller',
    watches: [
      watchSelf(NODES),
      watchMapped<Lease>(LEASES, ({ metadata }) =>
        metadata.namespace === LEASE_NAMESPACE ? [{ namespace: '', name: metadata.name ?? '' }] : [],
      ),
      // Only to be looked up.
      { resource: PODS, keys: () => [] },
    ],
    begin: () => heartbeats.reset(),
    reconcile: (key, context, signal) => reconcile(heartbeats, key, context, signal),
  };
}

async function reconcile(
  heartbeats: Heartbeats,
  key: ObjectKey,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const { cache, client, clock } = context;
  let node = cache.get<Node>(NODES, key);
  for (let attempt = 1; node !== undefined && attempt <= ATTEMPTS; attempt++) {
    const { observed, leftMs } = await observe(heartbeats, node, context, signal);
    const outcome = await carryOut(node, planNode(observed, clock.now()), context, signal);
    if (outcome === 'done') {
      if (leftMs > 0) return { requeueAfterMs: leftMs + 1 };
      // Its eviction waits for another node to be ready, which is no event of this node.
      return observed.elsewhere === 'none-ready' ? { requeueAfterMs: RECHECK_MS } : {};
    }
    if (outcome === 'pods-changed') return { requeueAfterMs: RECHECK_MS };
    node = await ignoreNotFound(client.get<Node>(NODES, key, signal));
  }
  // However often others write it, its silence has to be noticed in time: not by a backoff, which grows with every conflict.
  if (node !== undefined) return { requeueAfterMs: RECHECK_MS };
  heartbeats.forget(key.name);
  return {};
}

async function observe(
  heartbeats: Heartbeats,
  node: Node,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<{ readonly observed: ObservedNode; readonly leftMs: number }> {
  const { cache, clock } = context;
  const { name = '' } = node.metadata;
  const lease = cache.get<Lease>(LEASES, { namespace: LEASE_NAMESPACE, name });
  let leftMs = heartbeats.note(name, markOf(node, lease), clock.monotonicMs());
  if (leftMs <= 0) leftMs = await verifySilence(heartbeats, node, context, signal);
  const observed: ObservedNode = {
    node,
    pods: cache.onNode(PODS, name),
    heartbeat: leftMs > 0 ? 'heard' : 'silent',
    elsewhere: cache.list<Node>(NODES).some((other) => other.metadata.name !== name && isReady(other))
      ? 'some-ready'
      : 'none-ready',
  };
  return { observed, leftMs };
}

/** Changes with every sign of life: the Lease's renewal, or the status that the agent writes. */
function markOf(node: Node, lease: Lease | undefined): string {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return `${lease?.spec?.renewTime ?? ''} ${ready?.lastHeartbeatTime ?? ''}`;
}

/**
 * Looks at the store itself before a node counts as lost. Where the store does not answer nobody could have been heard, so
 * every node gets its full period again.
 */
async function verifySilence(
  heartbeats: Heartbeats,
  node: Node,
  { client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<number> {
  const name = node.metadata.name ?? '';
  using deadline = withDeadline(clock, signal, VERIFY_MS);
  let lease: Lease | undefined;
  try {
    lease = await client.get<Lease>(LEASES, { namespace: LEASE_NAMESPACE, name }, deadline);
  } catch (error) {
    if (!isReason(error, 'NotFound')) {
      signal.throwIfAborted();
      heartbeats.extendAll(clock.monotonicMs());
      throw new UnverifiedError(`the heartbeat of ${name} could not be verified: ${errorMessage(error)}`);
    }
  }
  return heartbeats.note(name, markOf(node, lease), clock.monotonicMs());
}

/** Whether a node lives could not be found out. */
export class UnverifiedError extends Error {
  override readonly name = 'UnverifiedError';
}

function isReady(node: Node): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** What came of a plan: a Node or pod that somebody has written since it was read has to be planned anew. */
type Outcome = 'done' | 'node-changed' | 'pods-changed';

/** Writes the Node, then its pods, which a refusal of the former does not hold up. */
async function carryOut(
  node: Node,
  actions: readonly Action[],
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const pods = actions.filter((action) => action.kind === 'markPodNotReady');
  const failures: unknown[] = [];
  try {
    await writeNode(node, actions, context, signal);
  } catch (error) {
    if (isReason(error, 'Conflict')) return 'node-changed';
    failures.push(error);
  }
  try {
    await executeActions(pods, (action) => markPodNotReady(action, context, signal), { pace: 'full' }, signal);
  } catch (error) {
    if (!isReason(error, 'Conflict')) failures.push(error);
    else if (failures.length === 0) return 'pods-changed';
  }
  if (failures.length > 0) throw failures[0];
  return 'done';
}

/**
 * Each write is conditional on the version that the one before it has made, and the first on the one that was planned from:
 * lists like the taints are replaced as a whole, and must not lose what somebody else has put there meanwhile.
 */
async function writeNode(
  node: Node,
  actions: readonly Action[],
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(node);
  const { uid } = node.metadata;
  let { resourceVersion } = node.metadata;
  const patchNode = async (metadata: object, part: object, subresource?: 'status'): Promise<void> => {
    const patch = { metadata: { ...metadata, uid, resourceVersion }, ...part };
    const how = { patch, patchType: 'application/merge-patch+json' } as const;
    const write = { verb: 'patch', resource: NODES, key, ...how } as const;
    const written = await ignoreNotFound(
      client.write(subresource === undefined ? write : { ...write, subresource }, signal),
    );
    resourceVersion = written?.metadata.resourceVersion;
  };
  for (const action of actions) {
    switch (action.kind) {
      case 'updateStatus':
        await patchNode({}, { status: { conditions: action.conditions } }, 'status');
        break;
      case 'recordNotReady':
        events.event(node, 'Normal', 'NodeNotReady', `Node ${key.name} status is now: NodeNotReady`);
        break;
      case 'setTaints':
        await patchNode({}, { spec: { taints: action.taints.length === 0 ? null : action.taints } });
        break;
      case 'annotate':
        await patchNode({ annotations: action.annotations }, {});
        break;
      case 'markPodNotReady':
        break;
    }
  }
}

/** Conditional on the version that was seen ready: an agent that is back may have said anew how its pod is. */
async function markPodNotReady(
  { pod, ready }: Extract<Action, { kind: 'markPodNotReady' }>,
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { uid, resourceVersion } = pod.metadata;
  const patch = { metadata: { uid, resourceVersion }, status: { conditions: [ready] } };
  const how = { patch, patchType: 'application/strategic-merge-patch+json', subresource: 'status' } as const;
  const written = await ignoreNotFound(
    client.write({ verb: 'patch', resource: PODS, key: keyOf(pod), ...how }, signal),
  );
  if (written !== undefined) events.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
}
