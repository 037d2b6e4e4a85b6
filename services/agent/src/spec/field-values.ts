import { containerNamed } from './pod-containers.ts';
import { type Container, type Pod, quantityMilli, quantityValue, type ResourceFieldSelector } from '@gantry/objects';
import type { ResourceAmounts } from './resources.ts';

/** Facts of the node for the downward API. The amounts are functions, because they change with the number of nodes on the host. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly hostMemoryBytes: number;
  /** The capacity in the Node's status. */
  readonly capacity: () => ResourceAmounts;
  /** The node's allocatable amounts. They serve as limits of containers without limits. */
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
 * The value for `resourceFieldRef`, divided by the divisor and rounded up (pkg/api/v1/resource). When a limit is absent or zero, the
 * pod's limit counts, then the node's allocatable amount. Undefined for an unsupported resource.
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

/** The container that a `resourceFieldRef` names, of any kind; `own` without a name. */
export function namedContainer(
  pod: Pod,
  { containerName }: ResourceFieldSelector,
  own?: Container,
): Container | undefined {
  if (containerName === undefined || containerName === '') return own;
  return containerNamed(pod, containerName);
}
