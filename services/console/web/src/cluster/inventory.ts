import { type Amounts, ENGINE_LABEL, HOST_ADDRESS_ANNOTATION, parseAmounts, podRequests } from '@gantry/objects';
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
  readonly requests: Amounts;
}

export function podMark(object: KubeObject): PodMark {
  const pod = object as Pod;
  const { metadata, spec } = pod;
  const { uid = '', namespace = '', name = '' } = metadata;
  const { cpu = 0, memory = 0 } = podRequests(pod);
  return { uid, namespace, name, node: spec?.nodeName ?? '', state: stateOf(pod), requests: { cpu, memory } };
}

const FAILING = /BackOff|Err|Invalid|Cannot|Config|OOMKilled/;

function stateOf({ metadata, spec, status }: Pod): PodState {
  if (status?.phase === 'Succeeded') return 'ended';
  if (status?.phase === 'Failed') return 'failing';
  if (metadata.deletionTimestamp !== undefined) return 'ending';
  if ((spec?.nodeName ?? '') === '') return 'waiting';
  if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')) return 'ready';
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.some(({ state }) => FAILING.test(state?.waiting?.reason ?? '')) ? 'failing' : 'starting';
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
    for (const { state, requests } of own) {
      if (state === 'ended') continue;
      requested.cpu += requests['cpu'] ?? 0;
      requested.memory += requests['memory'] ?? 0;
    }
    const share = (name: 'cpu' | 'memory') => requested[name] / Math.max(1, node.allocatable[name] ?? 0);
    return { node, pods: own, cpu: share('cpu'), memory: share('memory') };
  });
  return { loads, unplaced: [...byNode.values()].flat() };
}

const NATURAL = new Intl.Collator('en', { numeric: true });
