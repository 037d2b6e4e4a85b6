import { append, formatTime, type Instant, type Plan } from '@gantry/base';
import {
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_OS_LABEL,
  DISK_PRESSURE_TAINT,
  MEMORY_PRESSURE_TAINT,
  NETWORK_UNAVAILABLE_TAINT,
  type Node,
  NODE_TTL_ANNOTATION,
  type NodeCondition,
  NOT_READY_TAINT,
  OS_LABEL,
  PID_PRESSURE_TAINT,
  type Pod,
  type PodCondition,
  type Taint,
  UNREACHABLE_TAINT,
  UNSCHEDULABLE_TAINT,
} from '@gantry/objects';

/** The input of the plan. */
export interface ObservedNode {
  readonly node: Node;
  /** The pods that are bound to it. */
  readonly pods: readonly Pod[];
  /** Whether its agent has sent a heartbeat recently; 'silent' is verified. */
  readonly heartbeat: 'heard' | 'silent';
  /**
   * Whether the node may get the taint that evicts its pods. `delayed`: not yet, because evictions in its zone are rate-limited; an
   * existing taint stays. `stopped`: no node is ready, so pods could not run elsewhere; an existing taint is removed.
   */
  readonly eviction: 'allowed' | 'delayed' | 'stopped';
  /** When to check again whether it may; undefined if no result is pending. */
  readonly askAgainAt?: Instant | undefined;
  /** Whether this term has recorded the node's registration; as in Kubernetes, once per node and leader. */
  readonly registration: 'new' | 'recorded';
}

export type Action =
  | { readonly kind: 'updateStatus'; readonly conditions: readonly NodeCondition[] }
  /** All taints that the node should have. */
  | { readonly kind: 'setTaints'; readonly taints: readonly Taint[] }
  | { readonly kind: 'annotate'; readonly annotations: Readonly<Record<string, string>> }
  | { readonly kind: 'label'; readonly labels: Readonly<Record<string, string>> }
  /** Merges `ready` into the pod's Ready condition. */
  | { readonly kind: 'markPodNotReady'; readonly pod: Pod; readonly ready: PodCondition }
  | { readonly kind: 'recordNotReady' }
  | { readonly kind: 'recordRegistered' };

/** Labels for older clients are copied from the stable ones. */
const LABEL_PAIRS = [
  [OS_LABEL, BETA_OS_LABEL],
  [ARCH_LABEL, BETA_ARCH_LABEL],
] as const;

/** Conditions that an agent reports; Unknown while it is silent. */
const REPORTED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

/** Taints for conditions with these statuses. */
const CONDITION_TAINTS: readonly { readonly type: string; readonly status: string; readonly key: string }[] = [
  { type: 'Ready', status: 'False', key: NOT_READY_TAINT },
  { type: 'Ready', status: 'Unknown', key: UNREACHABLE_TAINT },
  { type: 'MemoryPressure', status: 'True', key: MEMORY_PRESSURE_TAINT },
  { type: 'DiskPressure', status: 'True', key: DISK_PRESSURE_TAINT },
  { type: 'NetworkUnavailable', status: 'True', key: NETWORK_UNAVAILABLE_TAINT },
  { type: 'PIDPressure', status: 'True', key: PID_PRESSURE_TAINT },
];
const OWN_NO_SCHEDULE: ReadonlySet<string> = new Set([...CONDITION_TAINTS.map(({ key }) => key), UNSCHEDULABLE_TAINT]);
const OWN_NO_EXECUTE: ReadonlySet<string> = new Set([NOT_READY_TAINT, UNREACHABLE_TAINT]);

/**
 * Updates a node's conditions and taints by its heartbeat, and sets its pods to not ready while the node is unknown. Each action assumes
 * the previous ones: taints follow the conditions, and the Event follows the status.
 */
export function planNode(observed: ObservedNode, now: Instant): Plan<Action> {
  const { node } = observed;
  const actions: Action[] = [];
  if (observed.registration === 'new') actions.push({ kind: 'recordRegistered' });
  const before = node.status?.conditions ?? [];
  const conditions = conditionsOf(observed, before, now);
  const isChanged = conditions !== before;
  if (isChanged) actions.push({ kind: 'updateStatus', conditions });
  if (statusOf(before, 'Ready') === 'True' && statusOf(conditions, 'Ready') !== 'True') {
    actions.push({ kind: 'recordNotReady' });
  }
  const taints = taintsOf(node, conditions, observed.eviction, now);
  if (taints !== undefined) actions.push({ kind: 'setTaints', taints });
  if (node.metadata.annotations?.[NODE_TTL_ANNOTATION] === undefined && node.metadata.deletionTimestamp === undefined) {
    actions.push({ kind: 'annotate', annotations: { [NODE_TTL_ANNOTATION]: '0' } });
  }
  const labels = labelsOf(node);
  if (Object.keys(labels).length > 0) actions.push({ kind: 'label', labels });
  if (statusOf(conditions, 'Ready') === 'Unknown') append(actions, unreadyPods(observed.pods, now));
  return { actions, requeueAt: observed.askAgainAt };
}

/** Whether the node's pods are to be evicted, now or when the zone allows it: it is not ready and does not have the taint yet. */
export function awaitsEviction(node: Node, heartbeat: ObservedNode['heartbeat']): boolean {
  const ready = heartbeat === 'silent' ? 'Unknown' : statusOf(node.status?.conditions ?? [], 'Ready');
  return (ready === 'False' || ready === 'Unknown') && !isEvicting(node);
}

/** Whether the node has a taint of this controller that evicts its pods. */
export function isEvicting(node: Node): boolean {
  return (node.spec?.taints ?? []).some(({ key, effect }) => effect === 'NoExecute' && OWN_NO_EXECUTE.has(key ?? ''));
}

/** The conditions of a silent node are Unknown; other nodes keep those of their agent. Returns the same list if nothing changes. */
function conditionsOf(
  { node, heartbeat }: ObservedNode,
  current: readonly NodeCondition[],
  now: Instant,
): readonly NodeCondition[] {
  if (heartbeat === 'heard') return current;
  const isKnown = REPORTED.every((type) => statusOf(current, type) === 'Unknown');
  if (isKnown) return current;
  const time = formatTime(now);
  const kept = current.map((condition) => {
    if (!REPORTED.some((type) => type === condition.type) || condition.status === 'Unknown') return condition;
    return {
      ...condition,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
      lastTransitionTime: time,
    };
  });
  const missing = REPORTED.filter((type) => !current.some((condition) => condition.type === type));
  return [
    ...kept,
    ...missing.map((type) => ({
      type,
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
      lastHeartbeatTime: node.metadata.creationTimestamp ?? time,
      lastTransitionTime: time,
    })),
  ];
}

/** The taints that the node should have; undefined if it has them already. Taints of others stay. */
function taintsOf(
  node: Node,
  conditions: readonly NodeCondition[],
  eviction: ObservedNode['eviction'],
  now: Instant,
): readonly Taint[] | undefined {
  const wanted = wantedTaints(node, conditions, eviction);
  const current = node.spec?.taints ?? [];
  const kept = current.filter((taint) => !isOwn(taint) || wanted.some((other) => isSame(taint, other)));
  const added = wanted
    .filter((taint) => !current.some((other) => isSame(taint, other)))
    .map((taint) => ({ ...taint, timeAdded: formatTime(now) }));
  return added.length === 0 && kept.length === current.length ? undefined : [...kept, ...added];
}

function wantedTaints(
  node: Node,
  conditions: readonly NodeCondition[],
  eviction: ObservedNode['eviction'],
): readonly Taint[] {
  const keys = CONDITION_TAINTS.filter(({ type, status }) => statusOf(conditions, type) === status).map(
    ({ key }) => key,
  );
  if (node.spec?.unschedulable === true) keys.push(UNSCHEDULABLE_TAINT);
  const noSchedule = keys.map((key) => ({ key, effect: 'NoSchedule' }));
  // A node that changes between unreachable and not ready changes its taint without delay.
  const mayEvict = eviction === 'allowed' || (eviction === 'delayed' && isEvicting(node));
  const noExecute = mayEvict
    ? keys.filter((key) => OWN_NO_EXECUTE.has(key)).map((key) => ({ key, effect: 'NoExecute' }))
    : [];
  return [...noSchedule, ...noExecute];
}

function labelsOf({ metadata: { labels = {} } }: Node): Record<string, string> {
  const pairs = LABEL_PAIRS.flatMap(([stable, beta]): [string, string][] => {
    const value = labels[stable];
    return value === undefined || labels[beta] === value ? [] : [[beta, value]];
  });
  return Object.fromEntries(pairs);
}

function isOwn({ key, effect }: Taint): boolean {
  if (effect === 'NoSchedule') return OWN_NO_SCHEDULE.has(key ?? '');
  return effect === 'NoExecute' && OWN_NO_EXECUTE.has(key ?? '');
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

function unreadyPods(pods: readonly Pod[], now: Instant): readonly Action[] {
  const ready: PodCondition = { type: 'Ready', status: 'False', lastTransitionTime: formatTime(now) };
  return pods
    .filter(({ status }) => status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true)
    .map((pod) => ({ kind: 'markPodNotReady', pod, ready }));
}

function statusOf(conditions: readonly NodeCondition[], type: string): string | undefined {
  return conditions.find((condition) => condition.type === type)?.status;
}
