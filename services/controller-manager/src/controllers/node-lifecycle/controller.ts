import { errorMessage, withDeadline } from '@gantry/base';
import { isReason, keyOf, type Lease, LEASES, type Node, NODES, type ObjectKey, PODS } from '@gantry/objects';
import { ignoreNotFound } from '@gantry/client';
import {
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  resultOf,
  watchMapped,
  watchSelf,
} from '@gantry/controller-runtime';
import { Heartbeats } from './heartbeats.ts';
import { type Action, type ObservedNode, planNode } from './plan.ts';

const LEASE_NAMESPACE = 'kube-node-lease';
/** A read that takes longer than this says more about the store than about the node. */
const VERIFY_MS = 1000;
const RECHECK_MS = 500;
/** How often a Node that others write meanwhile is read and planned anew at once. */
const ATTEMPTS = 5;

/** Watches over the agents' heartbeats: a silent node is unknown, tainted, and its pods are not ready. */
export function createNodeLifecycleController(options: { readonly graceMs: number }): ControllerSpec {
  const heartbeats = new Heartbeats(options.graceMs);
  return {
    name: 'node-lifecycle',
    eventSource: 'node-controller',
    watches: [
      watchSelf(NODES),
      watchMapped(LEASES, ({ metadata }) =>
        metadata.namespace === LEASE_NAMESPACE ? [{ namespace: '', name: metadata.name ?? '' }] : [],
      ),
      // Only cached: changed pods queue nothing.
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
  let node = cache.get(NODES, key);
  for (let attempt = 1; node !== undefined && attempt <= ATTEMPTS; attempt++) {
    const { observed, leftMs } = await observe(heartbeats, node, context, signal);
    const plan = planNode(observed, clock.now());
    const outcome = await writeAll(node, plan.actions, context, signal);
    if (outcome === 'done') return leftMs > 0 ? { requeueAfterMs: leftMs + 1 } : resultOf(plan, clock);
    if (outcome === 'pods-changed') return { requeueAfterMs: RECHECK_MS };
    node = await ignoreNotFound(client.get(NODES, key, signal));
  }
  // A fixed delay, not a back-off: a silent node must be noticed in time however often others write it.
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
  const lease = cache.get(LEASES, { namespace: LEASE_NAMESPACE, name });
  let leftMs = heartbeats.note(name, markOf(node, lease), clock.monotonicMs());
  if (leftMs <= 0) leftMs = await verifySilence(heartbeats, node, context, signal);
  const observed: ObservedNode = {
    node,
    pods: cache.onNode(PODS, name),
    heartbeat: leftMs > 0 ? 'heard' : 'silent',
    elsewhere: cache.list(NODES).some((other) => other.metadata.name !== name && isReady(other))
      ? 'some-ready'
      : 'none-ready',
  };
  return { observed, leftMs };
}

/** Changes with every heartbeat: the Lease's renewal, or the status that the agent writes. */
function markOf(node: Node, lease: Lease | undefined): string {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return `${lease?.spec?.renewTime ?? ''} ${ready?.lastHeartbeatTime ?? ''}`;
}

/**
 * Reads the Lease from the store before a node counts as lost. When the store does not respond, no heartbeat could have
 * arrived: every node gets its full period again.
 */
async function verifySilence(
  heartbeats: Heartbeats,
  node: Node,
  { client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<number> {
  const name = node.metadata.name ?? '';
  using deadline = withDeadline(clock, signal, VERIFY_MS);
  const reading = ignoreNotFound(client.get(LEASES, { namespace: LEASE_NAMESPACE, name }, deadline));
  const lease = await reading.catch((error: unknown) => {
    signal.throwIfAborted();
    heartbeats.extendAll(clock.monotonicMs());
    throw new UnverifiedError(`the heartbeat of ${name} could not be verified: ${errorMessage(error)}`);
  });
  return heartbeats.note(name, markOf(node, lease), clock.monotonicMs());
}

/** The store could not be asked whether a node is alive. */
export class UnverifiedError extends Error {
  override readonly name = 'UnverifiedError';
}

function isReady(node: Node): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** `…-changed`: it was written by others since it was read, so the plan is out of date. */
type Outcome = 'done' | 'node-changed' | 'pods-changed';

/** Writes the Node, then its pods; a rejected write of the Node does not hold up the pods. */
async function writeAll(
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
 * Each write is conditional on the version that the one before it made, the first on the one that was planned from: taints
 * are replaced as a whole, and those that others add meanwhile must not be lost.
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
    const merge = { metadata: { ...metadata, uid, resourceVersion }, ...part };
    const patch = subresource === undefined ? { merge } : { merge, subresource };
    const written = await ignoreNotFound(client.patch(NODES, key, patch, signal));
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

/** Conditional on the version that was read: an agent that is back may have reported the pod's state anew. */
async function markPodNotReady(
  { pod, ready }: Extract<Action, { kind: 'markPodNotReady' }>,
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { uid, resourceVersion } = pod.metadata;
  const strategic = { metadata: { uid, resourceVersion }, status: { conditions: [ready] } };
  const written = await ignoreNotFound(client.patch(PODS, keyOf(pod), { strategic, subresource: 'status' }, signal));
  if (written !== undefined) events.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
}
