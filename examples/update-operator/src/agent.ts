import {
  type Controller,
  ignoreReasons,
  isReason,
  type Node,
  NODES,
  type Pod,
  PODS,
  type ReconcileContext,
  type Result,
  watchMapped,
  watchSelf,
} from '@gantry/operator';
import { type AgentAction, planAgent } from './plan-agent.ts';

/** The host of a node. */
export interface Host {
  /** Identifies the time since its last boot: another value after each boot. */
  boot(signal: AbortSignal): Promise<string>;
  /** Resolves when it has booted again, or never. */
  reboot(signal: AbortSignal): Promise<void>;
}

export interface AgentOptions {
  readonly node: string;
  readonly host: Host;
  readonly system: Readonly<Record<string, string>>;
  readonly gracePeriodMs: number;
}

/** How often pods are asked to leave again: a disruption budget may allow more now. */
const LOOK_AGAIN_MS = 10_000;

/** Reboots its node when the operator allows it. */
export function updateAgent({ node: name, host, system, gracePeriodMs }: AgentOptions): Controller {
  const key = { namespace: '', name };
  return {
    name: `update-agent-${name}`,
    eventSource: 'update-agent',
    watches: [watchSelf(NODES), watchMapped(PODS, ({ spec }) => (spec?.nodeName === name ? [key] : []))],
    awaitOwnWrites: 'always',
    reconcile: async (at, context, signal) => {
      const node = at.name === name ? context.cache.get(NODES, key) : undefined;
      if (node === undefined) return {};
      const pods = context.cache.list(PODS).filter(({ spec }) => spec?.nodeName === name);
      const [boot, now] = [await host.boot(signal), context.clock.now()];
      const action = planAgent({ node, pods, boot, system, now, gracePeriodMs });
      return await execute(action, node, host, context, signal);
    },
  };
}

async function execute(
  action: AgentAction,
  node: Node,
  host: Host,
  { client, events, log }: ReconcileContext,
  signal: AbortSignal,
): Promise<Result> {
  switch (action.kind) {
    case 'none':
      return {};
    case 'patch':
      await client.patch(NODES, { namespace: '', name: node.metadata.name ?? '' }, { merge: action.patch }, signal);
      events.event(node, 'Normal', 'UpdateAgent', `The node ${action.why}`);
      log.info({}, action.why);
      return {};
    case 'evict':
      for (const pod of action.pods) {
        if (!(await evict(pod, client, signal))) log.info({ pod: title(pod) }, 'may not be evicted yet');
      }
      return { requeueAfterMs: LOOK_AGAIN_MS };
    case 'reboot':
      if (action.remaining.length > 0) {
        const left = action.remaining.map(title).join(', ').slice(0, 500);
        events.event(node, 'Warning', 'PodsRemain', `Reboots although pods have not ended: ${left}`);
      }
      log.info({}, 'reboots');
      await host.reboot(signal);
      // Another boot ends the handshake.
      return { requeueAfterMs: 1 };
  }
}

/** Whether the pod ends. A disruption budget may forbid it. */
async function evict({ metadata }: Pod, client: ReconcileContext['client'], signal: AbortSignal): Promise<boolean> {
  const { name = '', namespace = '', uid } = metadata;
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid } },
  };
  const key = { name, namespace, subresource: 'eviction' };
  try {
    // Conflict: a pod of the same name has taken its place, perhaps on another node.
    await ignoreReasons(client.createSubresource(PODS, key, eviction, signal), ['NotFound', 'Conflict']);
    return true;
  } catch (error) {
    if (isReason(error, 'TooManyRequests')) return false;
    throw error;
  }
}

function title({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
