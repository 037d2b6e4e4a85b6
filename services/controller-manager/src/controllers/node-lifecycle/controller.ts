import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  resultOf,
  watchMapped,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  isReason,
  keyOf,
  LEASES,
  NAMESPACES,
  type Node,
  NODES,
  type ObjectKey,
  type Pod,
  PODS,
  RETURNS_BY_ANNOTATION,
  StatusError,
} from '@gantry/objects';
import type { NodeMeter, ZoneCount } from '../../metrics/nodes.ts';
import { ApiView, LEASE_NAMESPACE } from './api-view.shell.ts';
import { Evictions, isReady } from './evictions.ts';
import { Periods } from './periods.ts';
import { type Action, isEvicting, type ObservedNode, planNode } from './plan.ts';
import { lookCloser, markOf, type Watched } from './silence.shell.ts';
import { EVICTION_RATES, type EvictionRates, zoneHealths, zoneLabel, zoneOf } from './zones.ts';

const RECHECK_MS = 500;
/** Longer than a replacement of an agent may take, and than the difference of two hosts' clocks. */
const MAX_EXCUSED_MS = 10 * 60_000;
/** How often a Node that others change meanwhile is read and planned again at once. */
const ATTEMPTS = 5;

interface NodeLifecycleOptions {
  /** Milliseconds without a heartbeat until a node counts as lost, if it has an agent's Lease; see `Periods` for others. */
  readonly graceMs: number;
  /** `EVICTION_RATES` when absent. */
  readonly rates?: EvictionRates;
  readonly meter: NodeMeter;
}

/** Monitors the agents' heartbeats. A silent node gets unknown conditions and taints, and its pods are not ready. */
export function createNodeLifecycleController({
  graceMs,
  rates = EVICTION_RATES,
  meter,
}: NodeLifecycleOptions): ControllerSpec {
  const periods = new Periods(graceMs);
  const evictions = new Evictions(rates);
  const memory: Memory = { periods, view: new ApiView(periods), evictions, registered: new Map(), meter };
  const rounds = new Rounds(meter);
  return {
    name: 'node-lifecycle',
    eventSource: 'node-controller',
    watches: [
      watchSelf(NODES),
      watchMapped(LEASES, ({ metadata }) =>
        metadata.namespace === LEASE_NAMESPACE ? [{ namespace: '', name: metadata.name ?? '' }] : [],
      ),
      { resource: PODS, keys: nodeOfNewPod },
      // Only cached: changes queue nothing.
      { resource: NAMESPACES, keys: () => [] },
    ],
    begin: () => {
      periods.reset();
      evictions.reset();
      memory.registered.clear();
      rounds.reset();
    },
    end: () => meter.count(() => []),
    reconcile: async (key, context, signal) => {
      meter.count(() => zoneCounts(context.cache));
      const startedMs = context.clock.monotonicMs();
      try {
        return await reconcile(memory, key, context, signal);
      } finally {
        rounds.looked(key.name, (context.clock.monotonicMs() - startedMs) / 1000, () => context.cache.list(NODES));
      }
    },
  };
}

/** The node to which a pod is newly bound, if that node is not ready: then the pod is not ready either. */
function nodeOfNewPod(pod: Pod | undefined, old: Pod | undefined, cache: Cache): readonly ObjectKey[] {
  const name = pod?.spec?.nodeName ?? '';
  if (name === '' || name === old?.spec?.nodeName) return [];
  const node = cache.get(NODES, { namespace: '', name });
  return node === undefined || isReady(node) ? [] : [{ namespace: '', name }];
}

/** Whether the actions add the taint that evicts a node's pods. */
function beginsEviction(node: Node, actions: readonly Action[]): boolean {
  const taints = actions.flatMap((action) => (action.kind === 'setTaints' ? action.taints : []));
  return !isEvicting(node) && isEvicting({ ...node, spec: { ...node.spec, taints: [...taints] } });
}

/** The memory of a term. */
interface Memory extends Watched {
  readonly evictions: Evictions;
  /** Nodes whose registration has been recorded, by name. */
  readonly registered: Map<string, Node>;
  readonly meter: NodeMeter;
}

function zoneCounts(cache: Cache): readonly ZoneCount[] {
  return [...zoneHealths(cache.list(NODES), isReady)].map(([zone, health]) => ({ zone: zoneLabel(zone), ...health }));
}

async function reconcile(
  memory: Memory,
  key: ObjectKey,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const { cache, client, clock, events } = context;
  const { periods, registered } = memory;
  let node = cache.get(NODES, key);
  for (let attempt = 1; node !== undefined && attempt <= ATTEMPTS; attempt++) {
    const { observed, lookInMs } = await observe(memory, node, context, signal);
    const plan = planNode(observed, clock.now());
    const outcome = await writeAll(memory, node, plan.actions, context, signal);
    if (outcome === 'done' && beginsEviction(node, plan.actions)) memory.meter.evicted(zoneLabel(zoneOf(node)));
    if (outcome === 'done') return lookInMs === undefined ? resultOf(plan, clock) : { requeueAfterMs: lookInMs };
    if (outcome === 'pods-changed') return { requeueAfterMs: RECHECK_MS };
    node = await ignoreNotFound(client.get(NODES, key, signal));
  }
  // A fixed delay, not a back-off: a silent node must be noticed in time, however often others write it.
  if (node !== undefined) return { requeueAfterMs: RECHECK_MS };
  periods.forget(key.name);
  memory.evictions.forget(key.name);
  // It may have been the last ready node.
  for (const other of cache.list(NODES)) if (isEvicting(other)) context.enqueue(keyOf(other));
  const removed = registered.get(key.name);
  if (removed !== undefined) {
    registered.delete(key.name);
    const message = `Node ${key.name} event: Removing Node ${key.name} from Controller`;
    events.event(removed, 'Normal', 'RemovingNode', message);
  }
  return {};
}

/** The node as input of the plan. `lookInMs` is when a node that is not silent must be reconciled again. */
async function observe(
  memory: Memory,
  node: Node,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<{ readonly observed: ObservedNode; readonly lookInMs: number | undefined }> {
  const { cache, clock, enqueue } = context;
  const { registered, evictions } = memory;
  const { name = '' } = node.metadata;
  const lease = memory.periods.lastLease(name, cache.get(LEASES, { namespace: LEASE_NAMESPACE, name }));
  const heartbeats = memory.periods.of(node, lease);
  let leftMs = heartbeats.note(name, markOf(node, lease), clock.monotonicMs());
  if (heartbeats.isQuiet(leftMs)) leftMs = await lookCloser(memory, heartbeats, node, context, signal);
  const excusedMs = excusedFor(node, clock.now());
  const heartbeat = leftMs > 0 || excusedMs > 0 ? 'heard' : 'silent';
  const nodes = () => cache.list(NODES);
  const { eviction, waitMs, stopsOthers } = evictions.ask({ node, heartbeat, nodes }, clock.monotonicMs());
  if (stopsOthers) for (const other of nodes()) if (isEvicting(other)) enqueue(keyOf(other));
  const observed: ObservedNode = {
    node,
    pods: cache.onNode(PODS, name),
    heartbeat,
    eviction,
    askAgainAt: waitMs === undefined ? undefined : clock.now() + waitMs,
    registration: registered.has(name) ? 'recorded' : 'new',
  };
  const silentInMs = leftMs > 0 ? heartbeats.nextLookMs(leftMs) : excusedMs;
  const lookInMs = heartbeat === 'heard' ? silentInMs : undefined;
  return { observed, lookInMs: lookInMs === undefined ? undefined : Math.min(lookInMs, waitMs ?? lookInMs) };
}

/** Milliseconds for which the silence of a node is announced. More than `MAX_EXCUSED_MS` from now on is no time that anyone announces. */
function excusedFor({ metadata: { annotations } }: Node, now: Instant): number {
  const leftMs = Date.parse(annotations?.[RETURNS_BY_ANNOTATION] ?? '') - now;
  return leftMs > 0 && leftMs <= MAX_EXCUSED_MS ? leftMs : 0;
}

/** `…-changed`: others have written it since it was read, so the plan is outdated. */
type Outcome = 'done' | 'node-changed' | 'pods-changed';

/** Writes the Node, then its pods. A rejected write of the Node does not delay the pods. */
async function writeAll(
  { periods, registered }: Memory,
  node: Node,
  actions: readonly Action[],
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const pods = actions.filter((action) => action.kind === 'markPodNotReady');
  const failures: unknown[] = [];
  try {
    await writeNode(node, actions, registered, context, signal);
  } catch (error) {
    if (isReason(error, 'Conflict')) return 'node-changed';
    if (!isRejection(error)) periods.interrupted();
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

/** Whether the API rejected the content of the write. With any other error, it would not have accepted a heartbeat either. */
function isRejection(error: unknown): boolean {
  return error instanceof StatusError && error.code < 500 && error.code !== 429;
}

/**
 * Each write is conditional on the version from the previous write, the first one on the planned version: taints are replaced as a whole,
 * and taints added by others meanwhile must not be lost.
 */
async function writeNode(
  node: Node,
  actions: readonly Action[],
  registered: Memory['registered'],
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
      case 'recordRegistered':
        registered.set(key.name, node);
        events.event(
          node,
          'Normal',
          'RegisteredNode',
          `Node ${key.name} event: Registered Node ${key.name} in Controller`,
        );
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
      case 'label':
        await patchNode({ labels: action.labels }, {});
        break;
      case 'markPodNotReady':
        break;
    }
  }
}

/** Conditional on the version that was read: an agent that has returned may have reported the pod's state again. */
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

/**
 * Measures reconciles of nodes: each one, and the time for all nodes once. Each node is reconciled separately when it changes or is due, so
 * the time of a round is the sum of its reconciles, without the time between them.
 */
export class Rounds {
  readonly #meter: Pick<NodeMeter, 'updated' | 'updatedAll'>;
  /** The nodes that are left in this round; undefined before its first reconcile. */
  #left: Set<string> | undefined;
  #seconds = 0;

  constructor(meter: Pick<NodeMeter, 'updated' | 'updatedAll'>) {
    this.#meter = meter;
  }

  reset(): void {
    this.#left = undefined;
    this.#seconds = 0;
  }

  /** Records a reconcile of a node. `nodes` lists all existing nodes; it is called once per round. */
  looked(name: string, seconds: number, nodes: () => readonly Node[]): void {
    this.#meter.updated(seconds);
    this.#left ??= new Set(nodes().map(({ metadata }) => metadata.name ?? ''));
    this.#seconds += seconds;
    this.#left.delete(name);
    if (this.#left.size > 0) return;
    this.#meter.updatedAll(this.#seconds);
    this.reset();
  }
}
