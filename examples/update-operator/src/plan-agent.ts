import { controllerOf, type Node, type Pod } from '@gantry/operator';
import { IDLE, NAMES, NEEDS_REBOOT, type NodePatch, patchOf, stateOf } from './handshake.ts';

/** Annotation of this agent alone: the drain that goes on, as JSON. */
export const DRAIN = 'update-agent.gantry.dev/drain';

/** What the agent's drain remembers on the Node, so that an agent that starts again goes on with it. */
interface Drain {
  /** What the host's boot was when the drain began: another one means that the reboot is done. */
  readonly boot: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

export interface ObservedNode {
  readonly node: Node;
  /** All pods of the node. */
  readonly pods: readonly Pod[];
  /** Identifies the time since the host's last boot. */
  readonly boot: string;
  /** Labels `id`, `group` and `version`, by their names. */
  readonly system: Readonly<Record<string, string>>;
  readonly now: number;
  /** How long pods may take to end. */
  readonly gracePeriodMs: number;
}

export type AgentAction =
  | { readonly kind: 'patch'; readonly patch: NodePatch; readonly why: string }
  /** Ends these pods, as their disruption budgets allow, and looks again later. */
  | { readonly kind: 'evict'; readonly pods: readonly Pod[]; readonly remaining: readonly Pod[] }
  /** `remaining` pods did not end in time. */
  | { readonly kind: 'reboot'; readonly remaining: readonly Pod[] }
  | { readonly kind: 'none' };

/** What the agent does next for its node. */
export function planAgent(observed: ObservedNode): AgentAction {
  const { node, boot, now } = observed;
  const { isInProgress, isOk, isNeeded, has } = stateOf(node);
  const { annotations = {}, labels = {} } = node.metadata;
  if (isInProgress) return planReboot(observed);
  const patch = (why: string, change: Record<string, string>, ofLabels: Record<string, string> = {}): AgentAction => ({
    kind: 'patch',
    why,
    patch: patchOf(node, change, ofLabels),
  });
  if (isOk && isNeeded) {
    const drain: Drain = { boot, since: now };
    const isCordoned = node.spec?.unschedulable === true;
    const { metadata } = patchOf(node, {
      [NAMES.rebootInProgress]: 'true',
      [DRAIN]: JSON.stringify(drain),
      ...(isCordoned ? {} : { [NAMES.madeUnschedulable]: 'true' }),
    });
    return { kind: 'patch', why: 'drains', patch: { metadata, spec: { unschedulable: true } } };
  }
  if (!isOk && has(NAMES.madeUnschedulable)) {
    const { metadata } = patchOf(node, { [NAMES.madeUnschedulable]: 'false' });
    return { kind: 'patch', why: 'takes pods again', patch: { metadata, spec: { unschedulable: null } } };
  }
  const needed = String(isOk ? isNeeded : annotations[NAMES.status] === NEEDS_REBOOT);
  const wanted = { ...observed.system, [NAMES.rebootNeeded]: needed };
  const isKnown =
    annotations[NAMES.rebootNeeded] === needed &&
    annotations[NAMES.rebootInProgress] !== undefined &&
    Object.entries(wanted).every(([name, value]) => labels[name] === value);
  if (isKnown) return { kind: 'none' };
  const change = { [NAMES.rebootNeeded]: needed, [NAMES.rebootInProgress]: 'false' };
  return patch(needed === 'true' ? 'needs a reboot' : 'needs no reboot', change, wanted);
}

function planReboot({ node, pods, boot, now, gracePeriodMs }: ObservedNode): AgentAction {
  const drain = drainOf(node);
  if (drain === undefined) {
    const begun: Drain = { boot, since: now };
    return { kind: 'patch', why: 'drains', patch: patchOf(node, { [DRAIN]: JSON.stringify(begun) }) };
  }
  if (drain.boot !== boot) {
    const change = {
      [NAMES.rebootInProgress]: 'false',
      [NAMES.rebootNeeded]: 'false',
      [NAMES.status]: IDLE,
      [DRAIN]: null,
    };
    return { kind: 'patch', why: 'has been rebooted', patch: patchOf(node, change, { [NAMES.rebootNeeded]: 'false' }) };
  }
  const remaining = pods.filter(mustLeave);
  if (remaining.length === 0 || now >= drain.since + gracePeriodMs) return { kind: 'reboot', remaining };
  return {
    kind: 'evict',
    pods: remaining.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    remaining,
  };
}

/** Undefined if there is none, or one that cannot be read. */
function drainOf({ metadata }: Node): Drain | undefined {
  try {
    const drain: unknown = JSON.parse(metadata.annotations?.[DRAIN] ?? '');
    if (typeof drain !== 'object' || drain === null || !('boot' in drain) || !('since' in drain)) return undefined;
    const { boot, since } = drain;
    return typeof boot === 'string' && typeof since === 'number' ? { boot, since } : undefined;
  } catch {
    return undefined;
  }
}

/** Pods of DaemonSets come back at once, mirror pods cannot be evicted, and kube-system may hold what the node needs. */
function mustLeave(pod: Pod): boolean {
  const { namespace, annotations = {} } = pod.metadata;
  const isFinished = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
  return (
    !isFinished &&
    namespace !== 'kube-system' &&
    controllerOf(pod)?.kind !== 'DaemonSet' &&
    annotations['kubernetes.io/config.mirror'] === undefined
  );
}
