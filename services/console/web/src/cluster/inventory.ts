import {
  type Amounts,
  ENGINE_LABEL,
  HOST_ADDRESS_ANNOTATION,
  isFinalPhase,
  parseAmounts,
  podRequests,
} from '@gantry/objects';
import type { KubeObject, Node, Pod } from '@gantry/objects';

/**
 * A pod's life as the picture shows it: `waiting` for a node, `starting`, `ready`, `failing`, `ended`, and `ending` while it is deleted.
 */
export type PodState = 'waiting' | 'starting' | 'ready' | 'failing' | 'ended' | 'ending';

export const POD_STATES: readonly PodState[] = ['waiting', 'starting', 'ready', 'failing', 'ending', 'ended'];

/** What the picture needs of a pod. */
export interface PodMark {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** '' while it has none. */
  readonly node: string;
  readonly state: PodState;
  /** A word of the cluster for why it is not ready, such as `Unschedulable` or `CrashLoopBackOff`; '' when it has none. */
  readonly reason: string;
  /** It has ended for good: it takes no room on its node. */
  readonly isFinal: boolean;
  readonly requests: Amounts;
}

export function podMark(object: KubeObject): PodMark {
  const pod = object as Pod;
  const { metadata, spec, status } = pod;
  const { uid = '', namespace = '', name = '' } = metadata;
  const { cpu = 0, memory = 0 } = podRequests(pod);
  return {
    uid,
    namespace,
    name,
    node: spec?.nodeName ?? '',
    state: stateOf(pod),
    reason: reasonOf(pod),
    isFinal: isFinalPhase(status?.phase),
    requests: { cpu, memory },
  };
}

function reasonOf({ status }: Pod): string {
  const waiting = containerStatusesOf(status).find(({ state }) => (state?.waiting?.reason ?? '') !== '');
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return (
    waiting?.state?.waiting?.reason ?? status?.reason ?? (scheduled?.status === 'False' ? (scheduled.reason ?? '') : '')
  );
}

function containerStatusesOf(status: Pod['status']) {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

const FAILING = /BackOff|Err|Invalid|Cannot|Config|OOMKilled/;

function stateOf({ metadata, spec, status }: Pod): PodState {
  if (status?.phase === 'Succeeded') return 'ended';
  if (status?.phase === 'Failed') return 'failing';
  if (metadata.deletionTimestamp !== undefined) return 'ending';
  if ((spec?.nodeName ?? '') === '') return 'waiting';
  if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')) return 'ready';
  return containerStatusesOf(status).some(({ state }) => FAILING.test(state?.waiting?.reason ?? ''))
    ? 'failing'
    : 'starting';
}

/** What the picture needs of a node. */
export interface NodeMark {
  readonly uid: string;
  readonly name: string;
  /** The Docker host on which its agent runs; '' when it does not say. */
  readonly host: string;
  /** Where other hosts send packets for its pods; '' when it does not say. */
  readonly hostAddress: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
  readonly allocatable: Amounts;
}

export function nodeMark(object: KubeObject): NodeMark {
  const { metadata, spec, status } = object as Node;
  return {
    uid: metadata.uid ?? '',
    name: metadata.name ?? '',
    host: metadata.labels?.[ENGINE_LABEL] ?? '',
    hostAddress: metadata.annotations?.[HOST_ADDRESS_ANNOTATION] ?? '',
    isReady: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    isCordoned: spec?.unschedulable === true,
    allocatable: parseAmounts(status?.allocatable),
  };
}

/** A node with its pods, and the shares of its capacity that they request, 0 to 1 and more. */
export interface NodeLoad {
  readonly node: NodeMark;
  readonly pods: readonly PodMark[];
  readonly cpu: number;
  readonly memory: number;
  /** Pods that have not ended, and their share of the number that the node takes. */
  readonly podCount: number;
  readonly podShare: number;
}

/** The share of what is scarcest on a node: at 1, no pod that asks for that fits. */
export function fullness({ cpu, memory, podShare }: NodeLoad): number {
  return Math.max(cpu, memory, podShare);
}

const UNREADY: readonly PodState[] = ['failing', 'waiting', 'starting'];

/** Pods that are meant to run and do not, those that fail first. */
export function unreadyPods(pods: Iterable<PodMark>): readonly PodMark[] {
  return [...pods]
    .filter(({ state }) => UNREADY.includes(state))
    .sort(
      (a, b) =>
        UNREADY.indexOf(a.state) - UNREADY.indexOf(b.state) ||
        NATURAL.compare(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`),
    );
}

/** Nodes by host and name, and the pods that have no known node. Pods that have ended request nothing. */
export function loadsOf(
  nodes: Iterable<NodeMark>,
  pods: Iterable<PodMark>,
): { readonly loads: readonly NodeLoad[]; readonly unplaced: readonly PodMark[] } {
  const byNode = new Map<string, PodMark[]>();
  for (const pod of pods) {
    const present = byNode.get(pod.node);
    if (present === undefined) byNode.set(pod.node, [pod]);
    else present.push(pod);
  }
  const sorted = [...nodes].sort((a, b) => NATURAL.compare(a.host, b.host) || NATURAL.compare(a.name, b.name));
  const loads = sorted.map((node): NodeLoad => {
    const own = byNode.get(node.name) ?? [];
    byNode.delete(node.name);
    const requested = { cpu: 0, memory: 0 };
    const living = own.filter(({ isFinal }) => !isFinal);
    for (const { requests } of living) {
      requested.cpu += requests['cpu'] ?? 0;
      requested.memory += requests['memory'] ?? 0;
    }
    const share = (name: 'cpu' | 'memory') => requested[name] / Math.max(1, node.allocatable[name] ?? 0);
    const podShare = living.length / Math.max(1, node.allocatable['pods'] ?? Number.POSITIVE_INFINITY);
    return { node, pods: own, cpu: share('cpu'), memory: share('memory'), podCount: living.length, podShare };
  });
  return { loads, unplaced: [...byNode.values()].flat() };
}

const NATURAL = new Intl.Collator('en', { numeric: true });
