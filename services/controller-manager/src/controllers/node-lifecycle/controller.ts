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
  const { cache, clock } = context;
  const node = cache.get<Node>(NODES, key);
  if (node === undefined) {
    heartbeats.forget(key.name);
    return {};
  }
  const lease = cache.get<Lease>(LEASES, { namespace: LEASE_NAMESPACE, name: key.name });
  let leftMs = heartbeats.note(key.name, markOf(node, lease), clock.monotonicMs());
  if (leftMs <= 0) leftMs = await verifySilence(heartbeats, node, context, signal);
  const observed: ObservedNode = {
    node,
    pods: cache.onNode(PODS, key.name),
    heartbeat: leftMs > 0 ? 'heard' : 'silent',
    elsewhere: cache.list<Node>(NODES).some((other) => other.metadata.name !== key.name && isReady(other))
      ? 'some-ready'
      : 'none-ready',
  };
  const actions = planNode(observed, clock.now());
  await executeActions(actions, (action) => execute(node, action, context, signal), { pace: 'full' }, signal);
  if (leftMs > 0) return { requeueAfterMs: leftMs + 1 };
  // Its eviction waits for another node to be ready, which is no event of this node.
  return observed.elsewhere === 'none-ready' ? { requeueAfterMs: RECHECK_MS } : {};
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

async function execute(node: Node, action: Action, context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, events } = context;
  const key = keyOf(node);
  const patchType = 'application/merge-patch+json';
  const { uid, resourceVersion } = node.metadata;
  switch (action.kind) {
    case 'updateStatus': {
      const patch = { metadata: { uid, resourceVersion }, status: { conditions: action.conditions } };
      await ignoreNotFound(
        client.write({ verb: 'patch', resource: NODES, key, patch, patchType, subresource: 'status' }, signal),
      );
      break;
    }
    case 'setTaints': {
      const taints = action.taints.length === 0 ? null : action.taints;
      const patch = { metadata: { uid }, spec: { taints } };
      await ignoreNotFound(client.write({ verb: 'patch', resource: NODES, key, patch, patchType }, signal));
      break;
    }
    case 'annotate': {
      const patch = { metadata: { uid, annotations: action.annotations } };
      await ignoreNotFound(client.write({ verb: 'patch', resource: NODES, key, patch, patchType }, signal));
      break;
    }
    case 'recordNotReady':
      events.event(node, 'Normal', 'NodeNotReady', `Node ${key.name} status is now: NodeNotReady`);
      break;
    case 'markPodNotReady': {
      const { pod, conditions } = action;
      const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions } };
      events.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
      await ignoreNotFound(
        client.write(
          { verb: 'patch', resource: PODS, key: keyOf(pod), patch, patchType, subresource: 'status' },
          signal,
        ),
      );
      break;
    }
  }
}
