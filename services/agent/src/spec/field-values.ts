import { type Container, type Pod, quantityMilli, quantityValue, type ResourceFieldSelector } from '@gantry/objects';

/** Facts of the node that the downward API may refer to. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly hostAddress: string;
  readonly cpus: number;
  readonly memoryBytes: number;
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
    'status.hostIP': () => facts.hostAddress,
    'status.hostIPs': () => facts.hostAddress,
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

/** The value for `resourceFieldRef`: rounded up to the divisor; without a limit, the node's capacity. */
export function resourceField(container: Container, selector: ResourceFieldSelector, facts: NodeFacts): string {
  const [kind = 'limits', name = 'cpu'] = selector.resource.split(/\.(.*)/s);
  const lists = container.resources ?? {};
  const quantity = (kind === 'requests' ? lists.requests : lists.limits)?.[name];
  const divisor = selector.divisor === undefined || selector.divisor === '0' ? '1' : selector.divisor;
  if (name === 'cpu') {
    const milli = quantity === undefined ? (kind === 'limits' ? facts.cpus * 1000 : 0) : quantityMilli(quantity);
    return String(Math.ceil(milli / quantityMilli(divisor)));
  }
  const fallback = kind === 'limits' && name === 'memory' ? facts.memoryBytes : 0;
  return String(Math.ceil((quantity === undefined ? fallback : quantityValue(quantity)) / quantityValue(divisor)));
}
