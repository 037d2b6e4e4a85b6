import {
  type FieldError,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
  invalid,
  notSupported,
  qualifiedName,
  required,
  oneOf,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

/** Fields that an environment variable can refer to. */
export const ENV_FIELDS: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

/** Fields that a file of a downward API volume can refer to. */
export const VOLUME_FIELDS: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const BYTE_DIVISORS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function validateFieldRef(
  selector: ObjectFieldSelector,
  allowed: readonly string[],
  path: string,
): FieldError[] {
  const { apiVersion = '', fieldPath = '' } = selector;
  if (apiVersion === '') return [required(`${path}.apiVersion`)];
  if (fieldPath === '') return [required(`${path}.fieldPath`)];
  const at = `${path}.fieldPath`;
  if (apiVersion !== 'v1') {
    return [invalid(at, fieldPath, `error converting fieldPath: unsupported pod version: ${apiVersion}`)];
  }
  const subscripted = /^([^[]+)\['(.*)'\]$/.exec(fieldPath);
  if (subscripted !== null) {
    const [, base = '', key = ''] = subscripted;
    if (base === 'metadata.annotations') return invalidAll(path, key.toLowerCase(), qualifiedName(key.toLowerCase()));
    if (base === 'metadata.labels') return invalidAll(path, key, qualifiedName(key));
    return [invalid(at, fieldPath, `error converting fieldPath: field label does not support subscript: ${fieldPath}`)];
  }
  const field = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
  if (!KNOWN_FIELDS.has(field)) {
    return [invalid(at, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`)];
  }
  return oneOf(at, field, allowed);
}

/** `place`: outside a container, the container name is required. */
export function validateResourceFieldRef(
  selector: ResourceFieldSelector,
  place: 'container' | 'volume',
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const { resource = '', containerName = '', divisor = '0' } = selector;
  if (place === 'volume' && containerName === '') errors.push(required(`${path}.containerName`));
  else if (resource === '') errors.push(required(`${path}.resource`));
  else if (!RESOURCES.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    errors.push(notSupported(`${path}.resource`, resource, RESOURCES));
  }
  return [...errors, ...validateDivisor(resource, divisor, `${path}.divisor`)];
}

function validateDivisor(resource: string, divisor: string, path: string): FieldError[] {
  if (divisor === '0') return [];
  const kind = resource.slice(resource.indexOf('.') + 1);
  if (kind === 'cpu') {
    return ['1m', '1'].includes(divisor)
      ? []
      : [invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")];
  }
  const name = kind === 'memory' ? 'memory' : kind === 'ephemeral-storage' ? 'local ephemeral storage' : 'hugepages';
  if (BYTE_DIVISORS.includes(divisor) || !(RESOURCES.includes(resource) || kind.startsWith('hugepages-'))) return [];
  return [
    invalid(
      path,
      resource,
      `only divisor's values ${BYTE_DIVISORS.join(', ')} are supported with the ${name} resource`,
    ),
  ];
}
