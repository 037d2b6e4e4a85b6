import { append } from '@gantry/base';
import {
  type FieldError,
  type ObjectReference,
  type PersistentVolumeSpec,
  type SecretReference,
  dns1123Label,
  dns1123Subdomain,
  forbidden,
  invalid,
  notSupported,
  parseQuantity,
  quantityValue,
  required,
  oneOf,
} from '@gantry/objects';
import { validateNodeSelector } from '../../pod-spec/affinity.ts';
import { validateModes, VOLUME_MODES } from './claim-spec.ts';
import { invalidAll } from '@gantry/apimachinery';
import { validateNoBacksteps } from '../../fields/file-paths.ts';
import {
  requireText,
  validateAwsElasticBlockStore,
  validateAzureDisk,
  validateDriverName,
  validateFc,
  validateFlexVolume,
  validateFlocker,
  validateGcePersistentDisk,
  validateHostPath,
  validateIscsi,
  validateNfs,
  validateQuobyte,
} from '../../pod-spec/volume-sources.ts';

const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];
const ONE_SOURCE = 'may not specify more than 1 volume type';
const INLINE = 'may not be specified in the context of inline volumes';

type Spec = PersistentVolumeSpec;

/** A volume source; `at` and `refusedAt` are the paths of its errors, if they differ from its name. */
interface Source {
  readonly name: keyof Spec;
  readonly at?: string;
  readonly refusedAt?: string;
  /** Whether it is checked in addition to another source; only the latter reports the conflict. */
  readonly beside?: 'allowed';
  readonly check: (spec: Spec, path: string, volumeName: string) => FieldError[];
}

function source<K extends keyof Spec>(
  name: K,
  check: (value: NonNullable<Spec[K]>, path: string, volumeName: string) => FieldError[],
  options: Omit<Source, 'name' | 'check'> = {},
): Source {
  return {
    name,
    ...options,
    check: (spec, path, volumeName) => {
      const value = spec[name];
      return value === undefined || value === null ? [] : check(value, path, volumeName);
    },
  };
}

/** In Kubernetes' order: of two sources, the later one is rejected. */
const SOURCES: readonly Source[] = [
  source('hostPath', validateHostPath),
  source('gcePersistentDisk', validateGcePersistentDisk, { at: 'persistentDisk' }),
  source('awsElasticBlockStore', validateAwsElasticBlockStore),
  source('glusterfs', ({ endpoints, path: target, endpointsNamespace: namespace }, path) => [
    ...requireText(endpoints, `${path}.endpoints`),
    ...requireText(target, `${path}.path`),
    ...(namespace === undefined ? [] : validateEndpointsNamespace(namespace, `${path}.endpointsNamespace`)),
  ]),
  source('flocker', validateFlocker),
  source('nfs', validateNfs),
  source('rbd', ({ monitors, image }, path) => [
    ...((monitors ?? []).length === 0 ? [required(`${path}.monitors`)] : []),
    ...requireText(image, `${path}.image`),
  ]),
  source('quobyte', validateQuobyte),
  source('cephfs', ({ monitors }, path) => ((monitors ?? []).length === 0 ? [required(`${path}.monitors`)] : []), {
    refusedAt: 'cephFS',
  }),
  source('iscsi', (iscsi, path, volumeName) =>
    validateIscsi(iscsi, path, { volumeName, otherForm: 'must be valid format' }),
  ),
  source('cinder', ({ volumeID, secretRef }, path) => [
    ...requireText(volumeID, `${path}.volumeID`),
    ...requireReference(secretRef, `${path}.secretRef`),
  ]),
  source('fc', validateFc),
  source('flexVolume', validateFlexVolume, { beside: 'allowed' }),
  source('azureFile', ({ secretName, shareName, secretNamespace }, path) => [
    ...requireText(secretName, `${path}.secretName`),
    ...requireText(shareName, `${path}.shareName`),
    ...(secretNamespace === '' ? [required(`${path}.secretNamespace`)] : []),
  ]),
  source('vsphereVolume', ({ volumePath }, path) => requireText(volumePath, `${path}.volumePath`)),
  source('photonPersistentDisk', ({ pdID }, path) => requireText(pdID, `${path}.pdID`)),
  source('portworxVolume', ({ volumeID }, path) => requireText(volumeID, `${path}.volumeID`)),
  source('azureDisk', validateAzureDisk),
  source('scaleIO', ({ gateway, system, volumeName }, path) => [
    ...requireText(gateway, `${path}.gateway`),
    ...requireText(system, `${path}.system`),
    ...requireText(volumeName, `${path}.volumeName`),
  ]),
  source('local', ({ path: target = '' }, path) =>
    target === '' ? [required(`${path}.path`)] : validateNoBacksteps(target, `${path}.path`),
  ),
  source('storageos', ({ volumeName = '', volumeNamespace = '', secretRef }, path) => [
    ...(volumeName === ''
      ? [required(`${path}.volumeName`)]
      : invalidAll(`${path}.volumeName`, volumeName, dns1123Label(volumeName))),
    ...(volumeNamespace === ''
      ? []
      : invalidAll(`${path}.volumeNamespace`, volumeNamespace, dns1123Label(volumeNamespace))),
    ...requireReference(secretRef, `${path}.secretRef`),
  ]),
  source('csi', (csi, path) => [
    ...validateDriverName(csi.driver, `${path}.driver`),
    ...requireText(csi.volumeHandle, `${path}.volumeHandle`),
    ...(
      [
        'controllerPublishSecretRef',
        'controllerExpandSecretRef',
        'nodePublishSecretRef',
        'nodeExpandSecretRef',
      ] as const
    ).flatMap((field) => validateSecret(csi[field], `${path}.${field}`)),
  ]),
];

function validateEndpointsNamespace(namespace: string, path: string): FieldError[] {
  if (namespace !== '') return invalidAll(path, namespace, dns1123Label(namespace));
  return [invalid(path, namespace, 'if the endpointnamespace is set, it must be a valid namespace name')];
}

function requireReference(reference: SecretReference | ObjectReference | undefined, path: string): FieldError[] {
  if (reference === undefined) return [];
  return [...requireText(reference.name, `${path}.name`), ...requireText(reference.namespace, `${path}.namespace`)];
}

function validateSecret(reference: SecretReference | undefined, path: string): FieldError[] {
  if (reference === undefined) return [];
  const { name = '', namespace = '' } = reference;
  return [
    ...(name === '' ? [required(`${path}.name`)] : invalidAll(`${path}.name`, name, dns1123Subdomain(name))),
    ...(namespace === ''
      ? [required(`${path}.namespace`)]
      : invalidAll(`${path}.namespace`, namespace, dns1123Label(namespace))),
  ];
}

/** Checks a volume's spec: that of an object, or an inline one ('inline'), which is part of an attachment. */
export function validateVolumeSpec(
  spec: Spec,
  volumeName: string,
  path: string,
  place: 'object' | 'inline' = 'object',
): FieldError[] {
  return [
    ...(place === 'inline' ? validateInline(spec, path) : []),
    ...validateUse(spec, path, place),
    ...validateSources(spec, volumeName, path),
    ...validateClasses(spec, path, place),
  ];
}

function validateInline({ claimRef, capacity = {}, csi }: Spec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (claimRef !== undefined) errors.push(forbidden(`${path}.claimRef`, INLINE));
  if (Object.keys(capacity).length > 0) errors.push(forbidden(`${path}.capacity`, INLINE));
  if (csi === undefined) errors.push(required(`${path}.csi`, 'has to be specified in the context of inline volumes'));
  return errors;
}

function validateUse(spec: Spec, path: string, place: 'object' | 'inline'): FieldError[] {
  const { accessModes = [], persistentVolumeReclaimPolicy: policy = '', nodeAffinity } = spec;
  const at = `${path}.persistentVolumeReclaimPolicy`;
  const errors = accessModes.length === 0 ? [required(`${path}.accessModes`)] : [];
  append(errors, validateModes(accessModes, `${path}.accessModes`));
  if (place === 'inline') {
    if (policy !== '' && policy !== 'Retain') {
      errors.push(forbidden(at, 'may only be Retain in the context of inline volumes'));
    }
    if (nodeAffinity !== undefined) errors.push(forbidden(`${path}.nodeAffinity`, INLINE));
    return errors;
  }
  append(errors, validateCapacity(spec.capacity, `${path}.capacity`));
  if (policy !== '' && !RECLAIM_POLICIES.includes(policy)) errors.push(notSupported(at, policy, RECLAIM_POLICIES));
  if (nodeAffinity === undefined) return errors;
  const where = `${path}.nodeAffinity.required`;
  return nodeAffinity.required === undefined
    ? [...errors, required(where, 'must specify required node constraints')]
    : [...errors, ...validateNodeSelector(nodeAffinity.required, where)];
}

function validateCapacity(capacity: Readonly<Record<string, string>> | undefined, path: string): FieldError[] {
  const entries = Object.entries(capacity ?? {});
  const errors = entries.length === 0 ? [required(path)] : [];
  if (capacity?.['storage'] === undefined || entries.length > 1) errors.push(notSupported(path, capacity, ['storage']));
  for (const [name, amount] of entries) {
    const at = `${path}[${name}]`;
    if (quantityValue(amount) < 0) errors.push(invalid(at, quantityValue(amount), 'must be a valid resource quantity'));
    if (parseQuantity(amount).nano <= 0n) errors.push(invalid(at, amount, 'must be greater than zero'));
  }
  return errors;
}

function validateSources(spec: Spec, volumeName: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let count = 0;
  for (const { name, at = name, refusedAt = name, beside, check } of SOURCES) {
    if (spec[name] === undefined) continue;
    if (count > 0 && beside === undefined) {
      errors.push(forbidden(`${path}.${refusedAt}`, ONE_SOURCE));
      continue;
    }
    count++;
    append(errors, check(spec, `${path}.${at}`, volumeName));
    if (name === 'local' && spec.nodeAffinity === undefined) {
      errors.push(required(`${path}.nodeAffinity`, 'Local volume requires node affinity'));
    }
  }
  if (count === 0) errors.push(required(path, 'must specify a volume type'));
  return errors;
}

function validateClasses(spec: Spec, path: string, place: 'object' | 'inline'): FieldError[] {
  const { storageClassName: className = '', volumeMode, volumeAttributesClassName: attributes } = spec;
  const errors: FieldError[] = [];
  if (isRoot(spec.hostPath?.path) && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    const detail = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbidden(`${path}.persistentVolumeReclaimPolicy`, detail));
  }
  if (place === 'inline') {
    if (className !== '') errors.push(forbidden(`${path}.storageClassName`, INLINE));
    if (volumeMode !== undefined && volumeMode !== 'Filesystem') {
      const detail = 'may not specify volumeMode other than Filesystem in the context of inline volumes';
      errors.push(forbidden(`${path}.volumeMode`, detail));
    }
    return errors;
  }
  if (className !== '') append(errors, invalidAll(`${path}.storageClassName`, className, dns1123Subdomain(className)));
  append(errors, oneOf(`${path}.volumeMode`, volumeMode, VOLUME_MODES));
  if (attributes === undefined) return errors;
  const at = `${path}.volumeAttributesClassName`;
  if (attributes === '') errors.push(required(at, 'an empty string is disallowed'));
  else append(errors, invalidAll(at, attributes, dns1123Subdomain(attributes)));
  if (spec.csi === undefined) {
    errors.push(required(`${path}.csi`, 'has to be specified when using volumeAttributesClassName'));
  }
  return errors;
}

function isRoot(path: string | undefined): boolean {
  return path !== undefined && path.startsWith('/') && path.split('/').every((part) => part === '' || part === '.');
}
