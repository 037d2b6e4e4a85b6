import { allContainersOf } from './pod-containers.ts';
import { type Container, type Pod, quantityMilli, quantityValue, type ResourceFieldSelector } from '@gantry/objects';
import type { ResourceAmounts } from './resources.ts';

/** Facts of the node that the downward API may refer to. Nodes of one host share what it has, so both amounts change with their number. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly hostMemoryBytes: number;
  /** What the Node shows as its capacity. */
  readonly capacity: () => ResourceAmounts;
  /** What pods may request of the node: the limits of containers that have none. */
  readonly allocatable: () => ResourceAmounts;
}

/** The value of a pod's field for `fieldRef`; undefined when the path is not supported. */
export function podField(pod: Pod, path: string, podAddress: string, facts: NodeFacts): string | undefined {
  const { metadata, spec } = pod;
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path);
  if (subscript !== null) {
    const map = subscript[1] === 'labels' ? metadata.labels : metadata.annotations;
    return map?.[subscript[2] ?? ''] ?? '';
  }
  const fields: Readonly<Record<string, () => string>> = {
    'metadata.name': () => metadata.name ?? '',
    'metadata.namespace': () => metadata.namespace ?? '',
    'metadata.uid': () => metadata.uid ?? '',
    'metadata.labels': () => formatMap(metadata.labels),
    'metadata.annotations': () => formatMap(metadata.annotations),
    'spec.nodeName': () => spec?.nodeName ?? facts.nodeName,
    'spec.serviceAccountName': () => spec?.serviceAccountName ?? '',
    'status.hostIP': () => facts.nodeAddress,
    'status.hostIPs': () => facts.nodeAddress,
    'status.podIP': () => podAddress,
    'status.podIPs': () => podAddress,
  };
  return fields[path]?.();
}

/** `key="escaped value"` lines in the order of their keys. */
function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}

/**
 * The value for `resourceFieldRef`, rounded up to the divisor (pkg/api/v1/resource). A limit that is absent or zero is the pod's, and
 * else what the node can give. Undefined for a resource that has no such value.
 */
export function resourceField(
  pod: Pod,
  container: Container,
  selector: ResourceFieldSelector,
  facts: NodeFacts,
): string | undefined {
  const [kind = '', name = ''] = selector.resource.split(/\.(.*)/s);
  const isKnown = ['cpu', 'memory', 'ephemeral-storage'].includes(name) || name.startsWith('hugepages-');
  if (!isKnown || (kind !== 'limits' && kind !== 'requests')) return undefined;
  const units = name === 'cpu' ? quantityMilli : quantityValue;
  const own = units(container.resources?.[kind]?.[name] ?? '0');
  const amount = own > 0 || kind === 'requests' ? own : limitOf(pod, name, units, facts);
  const divisor = units(selector.divisor ?? '0');
  return String(Math.ceil(amount / (divisor > 0 ? divisor : units('1'))));
}

function limitOf(pod: Pod, name: string, units: (text: string) => number, facts: NodeFacts): number {
  const ofPod = units(pod.spec?.resources?.limits?.[name] ?? '0');
  if (ofPod > 0) return ofPod;
  const { cpuMillis, memoryBytes, storageBytes } = facts.allocatable();
  return { cpu: cpuMillis, memory: memoryBytes, 'ephemeral-storage': storageBytes }[name] ?? 0;
}

/** The container that a `resourceFieldRef` names, among init containers too; its own without a name. */
export function namedContainer(
  pod: Pod,
  { containerName }: ResourceFieldSelector,
  own?: Container,
): Container | undefined {
  if (containerName === undefined || containerName === '') return own;
  return allContainersOf(pod).find(({ container }) => container.name === containerName)?.container;
}
