import {
  type Amounts,
  addAmounts,
  findUntoleratedTaint,
  hasEnded,
  hostPortsClash,
  hostPortsOf,
  matchesNodeAffinity,
  NO_AMOUNTS,
  parseAmounts,
  podRequests,
  reachesVolume,
} from '@gantry/objects';
import type { Node, PersistentVolume, Pod } from '@gantry/objects';

/** Whether a pod could be on a node, and if not, why. */
export interface NodeVerdict {
  readonly node: string;
  /** Empty: nothing that can be seen from outside forbids it. */
  readonly reasons: readonly string[];
}

interface Surroundings {
  readonly nodes: readonly Node[];
  /** Pods of all namespaces, as far as the user may see them. */
  readonly pods: readonly Pod[];
  /** The volumes of the pod's claims. */
  readonly volumes: readonly PersistentVolume[];
}

/** What each node says to a pod: taints, selectors, capacity, ports and volumes. The scheduler knows more (topology, affinity of pods). */
export function judgeNodes(pod: Pod, { nodes, pods, volumes }: Surroundings): readonly NodeVerdict[] {
  const byNode = Map.groupBy(
    pods.filter((one) => !hasEnded(one) && one.metadata.uid !== pod.metadata.uid),
    ({ spec }) => spec?.nodeName ?? '',
  );
  return nodes.map((node) => {
    const name = node.metadata.name ?? '';
    const present = byNode.get(name) ?? [];
    const reasons = [
      ...taintReasons(pod, node),
      ...(matchesNodeAffinity(pod.spec, node) ? [] : [`its labels do not match ${selectorOf(pod)}`]),
      ...resourceReasons(pod, node, present),
      ...portReasons(pod, present),
      ...volumes
        .filter((volume) => !reachesVolume(node, volume))
        .map(({ metadata }) => `it does not reach the volume ${metadata.name ?? ''}`),
    ];
    return { node: name, reasons };
  });
}

function taintReasons({ spec }: Pod, node: Node): readonly string[] {
  if (
    node.spec?.unschedulable === true &&
    findUntoleratedTaint(node.spec.taints, spec?.tolerations, ['NoSchedule']) !== undefined
  )
    return ['it is cordoned'];
  const taint = findUntoleratedTaint(node.spec?.taints, spec?.tolerations, ['NoSchedule', 'NoExecute']);
  if (taint === undefined) return [];
  const value = taint.value === undefined || taint.value === '' ? '' : `=${taint.value}`;
  return [`the pod does not tolerate its taint ${taint.key}${value}:${taint.effect}`];
}

function selectorOf({ spec }: Pod): string {
  const labels = Object.entries(spec?.nodeSelector ?? {}).map(([key, value]) => `${key}=${value}`);
  const hasAffinity = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined;
  const parts = [
    ...(labels.length > 0 ? [`the node selector ${labels.join(',')}`] : []),
    ...(hasAffinity ? ['the node affinity'] : []),
  ];
  return parts.join(' and ');
}

function resourceReasons(pod: Pod, node: Node, present: readonly Pod[]): readonly string[] {
  const allocatable = parseAmounts(node.status?.allocatable);
  const used = usedOf(present);
  const reasons = Object.entries(podRequests(pod)).flatMap(([name, wanted]) => {
    const free = (allocatable[name] ?? 0) - (used[name] ?? 0);
    if (wanted === 0 || wanted <= free) return [];
    return [
      `it has ${formatAmount(name, Math.max(0, free))} ${name} free of ${formatAmount(name, allocatable[name] ?? 0)}; the pod requests ${formatAmount(name, wanted)}`,
    ];
  });
  const maxPods = allocatable['pods'];
  return maxPods !== undefined && present.length >= maxPods
    ? [...reasons, `it has its ${maxPods} pods already`]
    : reasons;
}

/** The sum of the pods' requests. */
export function usedOf(pods: readonly Pod[]): Amounts {
  return pods.map((pod) => podRequests(pod)).reduce(addAmounts, NO_AMOUNTS);
}

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** An amount for people: `1.5` CPUs, `512Mi` of memory. CPU amounts are in millicores, others in whole units. */
export function formatAmount(name: string, amount: number): string {
  if (name === 'cpu')
    return amount % 1000 === 0 ? String(amount / 1000) : amount < 1000 ? `${amount}m` : (amount / 1000).toFixed(1);
  if (!name.includes('memory') && !name.includes('storage') && !name.startsWith('hugepages-')) return String(amount);
  let value = amount;
  let unit = 0;
  while (value >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)}${BINARY[unit] ?? ''}`;
}

function portReasons(pod: Pod, present: readonly Pod[]): readonly string[] {
  return hostPortsOf(pod).flatMap((wanted) => {
    const holder = present.find((one) => hostPortsOf(one).some((port) => hostPortsClash(wanted, port)));
    return holder === undefined
      ? []
      : [
          `its port ${wanted.port}/${wanted.protocol} is taken by ${holder.metadata.namespace ?? ''}/${holder.metadata.name ?? ''}`,
        ];
  });
}
