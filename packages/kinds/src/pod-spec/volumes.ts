import { append } from '@gantry/base';
import {
  type ConfigMapVolumeSource,
  type DownwardAPIVolumeFile,
  type FieldError,
  type KeyToPath,
  type ProjectedVolumeSource,
  type SecretVolumeSource,
  type ServiceAccountTokenProjection,
  type Volume,
  type VolumeProjection,
  dns1123Label,
  dns1123Subdomain,
  duplicate,
  forbidden,
  invalid,
  parseQuantity,
  required,
} from '@gantry/objects';
import { VOLUME_FIELDS, validateFieldRef, validateResourceFieldRef } from './downward-api.ts';
import { invalidAll } from '@gantry/apimachinery';
import { validateDescendingPath, validateFileMode, validateUnreservedPath } from '../fields/file-paths.ts';
import { validateTrustBundleSource } from './trust-bundle-source.ts';
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
} from './volume-sources.ts';

type Source = Exclude<keyof Volume, 'name'>;
type Check = (volume: Volume, path: string) => FieldError[];

const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;
const CONFLICTING = 'conflicting duplicate paths';

/** Sources in Kubernetes' order: of two, the later one is rejected. */
const SOURCES: readonly (readonly [Source, Check])[] = [
  ['emptyDir', ({ emptyDir }, path) => validateSizeLimit(emptyDir?.sizeLimit, `${path}.sizeLimit`)],
  ['hostPath', ({ hostPath }, path) => (hostPath === undefined ? [] : validateHostPath(hostPath, path))],
  [
    'gitRepo',
    ({ gitRepo }, path) => [
      ...requireText(gitRepo?.repository, `${path}.repository`),
      ...validateDescendingPath(gitRepo?.directory ?? '', `${path}.directory`),
    ],
  ],
  [
    'gcePersistentDisk',
    // The path without the provider's name is Kubernetes' own.
    ({ gcePersistentDisk: disk }, path) =>
      disk === undefined ? [] : validateGcePersistentDisk(disk, path.replace(/gcePersistentDisk$/, 'persistentDisk')),
  ],
  [
    'awsElasticBlockStore',
    ({ awsElasticBlockStore: store }, path) => (store === undefined ? [] : validateAwsElasticBlockStore(store, path)),
  ],
  ['secret', ({ secret }, path) => (secret === undefined ? [] : validateSecretVolume(secret, path))],
  ['nfs', ({ nfs }, path) => (nfs === undefined ? [] : validateNfs(nfs, path))],
  [
    'iscsi',
    ({ iscsi }, path) =>
      iscsi === undefined
        ? []
        : validateIscsi(iscsi, path, { otherForm: 'must be valid format starting with iqn, eui, or naa' }),
  ],
  [
    'glusterfs',
    (v, path) => [
      ...requireText(v.glusterfs?.endpoints, `${path}.endpoints`),
      ...requireText(v.glusterfs?.path, `${path}.path`),
    ],
  ],
  ['flocker', ({ flocker }, path) => (flocker === undefined ? [] : validateFlocker(flocker, path))],
  ['persistentVolumeClaim', (v, path) => requireText(v.persistentVolumeClaim?.claimName, `${path}.claimName`)],
  [
    'rbd',
    ({ rbd }, path) => [
      ...((rbd?.monitors ?? []).length === 0 ? [required(`${path}.monitors`)] : []),
      ...requireText(rbd?.image, `${path}.image`),
    ],
  ],
  [
    'cinder',
    ({ cinder }, path) => [
      ...requireText(cinder?.volumeID, `${path}.volumeID`),
      ...(cinder?.secretRef === undefined ? [] : requireText(cinder.secretRef.name, `${path}.secretRef.name`)),
    ],
  ],
  ['cephfs', ({ cephfs }, path) => ((cephfs?.monitors ?? []).length === 0 ? [required(`${path}.monitors`)] : [])],
  ['quobyte', ({ quobyte }, path) => (quobyte === undefined ? [] : validateQuobyte(quobyte, path))],
  ['downwardAPI', validateDownwardApi],
  ['fc', ({ fc }, path) => (fc === undefined ? [] : validateFc(fc, path))],
  ['flexVolume', ({ flexVolume }, path) => (flexVolume === undefined ? [] : validateFlexVolume(flexVolume, path))],
  ['configMap', ({ configMap }, path) => (configMap === undefined ? [] : validateConfigMapVolume(configMap, path))],
  [
    'azureFile',
    (v, path) => [
      ...requireText(v.azureFile?.secretName, `${path}.secretName`),
      ...requireText(v.azureFile?.shareName, `${path}.shareName`),
    ],
  ],
  ['vsphereVolume', ({ vsphereVolume }, path) => requireText(vsphereVolume?.volumePath, `${path}.volumePath`)],
  ['photonPersistentDisk', ({ photonPersistentDisk }, path) => requireText(photonPersistentDisk?.pdID, `${path}.pdID`)],
  ['portworxVolume', ({ portworxVolume }, path) => requireText(portworxVolume?.volumeID, `${path}.volumeID`)],
  ['azureDisk', ({ azureDisk }, path) => (azureDisk === undefined ? [] : validateAzureDisk(azureDisk, path))],
  [
    'storageos',
    ({ storageos: { volumeName = '', volumeNamespace = '', secretRef } = {} }, path) => [
      ...(volumeName === ''
        ? [required(`${path}.volumeName`)]
        : invalidAll(`${path}.volumeName`, volumeName, dns1123Label(volumeName))),
      ...(volumeNamespace === ''
        ? []
        : invalidAll(`${path}.volumeNamespace`, volumeNamespace, dns1123Label(volumeNamespace))),
      ...(secretRef === undefined ? [] : requireText(secretRef.name, `${path}.secretRef.name`)),
    ],
  ],
  ['projected', ({ projected }, path) => (projected === undefined ? [] : validateProjected(projected, path))],
  [
    'scaleIO',
    (v, path) => [
      ...requireText(v.scaleIO?.gateway, `${path}.gateway`),
      ...requireText(v.scaleIO?.system, `${path}.system`),
      ...requireText(v.scaleIO?.volumeName, `${path}.volumeName`),
    ],
  ],
  [
    'csi',
    ({ csi: { driver, nodePublishSecretRef: secret } = { driver: '' } }, path) => [
      ...validateDriverName(driver, `${path}.driver`),
      ...(secret === undefined ? [] : validateSecretName(secret.name ?? '', path)),
    ],
  ],
  [
    'ephemeral',
    ({ ephemeral }, path) =>
      ephemeral?.volumeClaimTemplate === undefined ? [required(`${path}.volumeClaimTemplate`)] : [],
  ],
  ['image', ({ image }, path) => requireText(image?.reference, `${path}.reference`)],
];

/** As in Kubernetes, an invalid name is reported beside the reference, not under it. */
function validateSecretName(name: string, path: string): FieldError[] {
  if (name === '') return [required(`${path}.nodePublishSecretRef.name`)];
  return invalidAll(`${path}.name`, name, dns1123Subdomain(name));
}

export interface CheckedVolumes {
  readonly errors: FieldError[];
  /** Valid volumes. Mounting any other volume is a separate error. */
  readonly usable: ReadonlyMap<string, Volume>;
}

export function validateVolumes(volumes: readonly Volume[] | undefined, path: string): CheckedVolumes {
  const errors: FieldError[] = [];
  const usable = new Map<string, Volume>();
  (volumes ?? []).forEach((volume, i) => {
    const at = `${path}[${i}]`;
    const { name = '' } = volume;
    const own = validateSource(volume, at);
    append(own, name === '' ? [required(`${at}.name`)] : invalidAll(`${at}.name`, name, dns1123Label(name)));
    if (usable.has(name)) own.push(duplicate(`${at}.name`, name));
    if (own.length === 0) usable.set(name, volume);
    append(errors, own);
  });
  return { errors, usable };
}

function validateSource(volume: Volume, path: string): FieldError[] {
  const given = SOURCES.filter(([name]) => volume[name] !== undefined);
  if (given.length === 0) return [required(path, 'must specify a volume type')];
  return given.flatMap(([name, check], i) =>
    i === 0
      ? check(volume, `${path}.${name}`)
      : [forbidden(`${path}.${name}`, 'may not specify more than 1 volume type')],
  );
}

function validateSizeLimit(limit: string | undefined, path: string): FieldError[] {
  return limit !== undefined && parseQuantity(limit).nano < 0n
    ? [forbidden(path, 'SizeLimit field must be a valid resource quantity')]
    : [];
}

function validateSecretVolume(source: SecretVolumeSource, path: string): FieldError[] {
  return [
    ...requireText(source.secretName, `${path}.secretName`),
    ...validateFileMode(source.defaultMode, `${path}.defaultMode`),
    ...validateItems(source.items, `${path}.items`),
  ];
}

function validateConfigMapVolume(source: ConfigMapVolumeSource, path: string): FieldError[] {
  return [
    ...requireText(source.name, `${path}.name`),
    ...validateFileMode(source.defaultMode, `${path}.defaultMode`),
    ...validateItems(source.items, `${path}.items`),
  ];
}

function validateItems(items: readonly KeyToPath[] | undefined, path: string): FieldError[] {
  return (items ?? []).flatMap(({ key, path: target = '', mode }, i) => {
    const at = `${path}[${i}]`;
    return [
      ...requireText(key, `${at}.key`),
      ...requireText(target, `${at}.path`),
      ...validateUnreservedPath(target, `${at}.path`),
      ...validateFileMode(mode, `${at}.mode`),
    ];
  });
}

function validateDownwardApi({ downwardAPI }: Volume, path: string): FieldError[] {
  return [
    ...validateFileMode(downwardAPI?.defaultMode, `${path}.defaultMode`),
    ...(downwardAPI?.items ?? []).flatMap((file) => validateDownwardFile(file, path)),
  ];
}

/** As in Kubernetes, errors name the volume, not the file. */
function validateDownwardFile(file: DownwardAPIVolumeFile, path: string): FieldError[] {
  const { path: target = '', fieldRef, resourceFieldRef, mode } = file;
  const errors = [...requireText(target, `${path}.path`), ...validateUnreservedPath(target, `${path}.path`)];
  if (fieldRef !== undefined) {
    append(errors, validateFieldRef(fieldRef, VOLUME_FIELDS, `${path}.fieldRef`));
    if (resourceFieldRef !== undefined) {
      errors.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    }
  } else if (resourceFieldRef !== undefined) {
    append(errors, validateResourceFieldRef(resourceFieldRef, 'volume', `${path}.resourceFieldRef`));
  } else {
    errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  }
  return [...errors, ...validateFileMode(mode, `${path}.mode`)];
}

function validateProjected(projected: ProjectedVolumeSource, path: string): FieldError[] {
  const errors = validateFileMode(projected.defaultMode, `${path}.defaultMode`);
  const paths = new Set<string>();
  (projected.sources ?? []).forEach((source, i) => {
    append(errors, validateProjection(source, paths, path, `${path}.sources[${i}]`));
  });
  return errors;
}

/** `volume` is the path of the projected volume, which Kubernetes names for the paths inside it. */
function validateProjection(source: VolumeProjection, paths: Set<string>, volume: string, path: string): FieldError[] {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  const errors: FieldError[] = [];
  for (const [kind, keyed] of [
    ['secret', secret],
    ['configMap', configMap],
  ] as const) {
    if (keyed === undefined) continue;
    append(errors, requireText(keyed.name, `${path}.${kind}.name`));
    append(errors, validateItems(keyed.items, `${path}.${kind}.items`));
    append(
      errors,
      claimPaths(paths, keyed.items ?? [], volume, () => keyed.name ?? ''),
    );
  }
  const files = downwardAPI?.items ?? [];
  append(
    errors,
    files.flatMap((file) => validateDownwardFile(file, `${path}.downwardAPI`)),
  );
  append(
    errors,
    claimPaths(paths, files, volume, (file) => file.path ?? ''),
  );
  if (serviceAccountToken !== undefined) {
    append(errors, validateToken(serviceAccountToken, volume, `${path}.serviceAccountToken`));
  }
  if (clusterTrustBundle !== undefined) {
    const { path: target = '' } = clusterTrustBundle;
    append(errors, validateTrustBundleSource(clusterTrustBundle, `${path}.clusterTrustBundle`));
    if (paths.has(target)) errors.push(invalid(volume, target, CONFLICTING));
    paths.add(target);
  }
  if (Object.values(source).filter((part) => part !== undefined).length > 1) {
    errors.push(forbidden(path, 'may not specify more than 1 volume type per source'));
  }
  return errors;
}

function claimPaths<T extends { path?: string }>(
  taken: Set<string>,
  items: readonly T[],
  volume: string,
  value: (item: T) => string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const item of items) {
    const { path = '' } = item;
    if (path === '') continue;
    if (taken.has(path)) errors.push(invalid(volume, value(item), CONFLICTING));
    taken.add(path);
  }
  return errors;
}

function validateToken(
  { path: target = '', expirationSeconds }: ServiceAccountTokenProjection,
  volume: string,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const seconds = expirationSeconds ?? MIN_TOKEN_SECONDS;
  const at = `${path}.expirationSeconds`;
  if (seconds < MIN_TOKEN_SECONDS) errors.push(invalid(at, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > MAX_TOKEN_SECONDS)
    errors.push(invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds'));
  if (target === '') errors.push(required(`${volume}.path`));
  else append(errors, validateUnreservedPath(target, `${volume}.path`));
  return errors;
}
