import { append } from '@gantry/base';
import {
  type AWSElasticBlockStoreVolumeSource,
  type AzureDiskVolumeSource,
  type FCVolumeSource,
  type FieldError,
  type FlexVolumeSource,
  type FlockerVolumeSource,
  type GCEPersistentDiskVolumeSource,
  type HostPathVolumeSource,
  type ISCSIVolumeSource,
  type NFSVolumeSource,
  type QuobyteVolumeSource,
  dns1123Subdomain,
  invalid,
  notSupported,
  required,
  tooLong,
  oneOf,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';
import { validateNoBacksteps } from '../fields/file-paths.ts';

/** The sources that pods and PersistentVolumes share. Every check takes the path of the source itself. */

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const IQN = /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/;
const EUI = /^eui.[A-Za-z0-9]{16}$/;
const NAA = /^naa.[A-Za-z0-9]{32}$/;
const RANGE_255 = 'must be between 0 and 255, inclusive';
const MAX_DRIVER_NAME = 63;

export function requireText(text: string | undefined, path: string, detail = ''): FieldError[] {
  return text === undefined || text === '' ? [required(path, detail)] : [];
}

/** Checks the name of a CSI driver; capitals are allowed. */
export function validateDriverName(name: string | undefined, path: string): FieldError[] {
  if (name === undefined || name === '') return [required(path)];
  return [
    ...(name.length > MAX_DRIVER_NAME ? [tooLong(path, MAX_DRIVER_NAME)] : []),
    ...invalidAll(path, name, dns1123Subdomain(name.toLowerCase())),
  ];
}

export function validateHostPath({ path: target = '', type }: HostPathVolumeSource, path: string): FieldError[] {
  if (target === '') return [required(`${path}.path`)];
  return [
    ...validateNoBacksteps(target, `${path}.path`),
    ...(type === undefined || HOST_PATH_TYPES.includes(type)
      ? []
      : [notSupported(`${path}.type`, type, HOST_PATH_TYPES)]),
  ];
}

export function validateGcePersistentDisk({ pdName, partition = 0 }: GCEPersistentDiskVolumeSource, path: string) {
  return [...requireText(pdName, `${path}.pdName`), ...validatePartition(partition, `${path}.partition`)];
}

export function validateAwsElasticBlockStore(
  { volumeID, partition = 0 }: AWSElasticBlockStoreVolumeSource,
  path: string,
): FieldError[] {
  return [...requireText(volumeID, `${path}.volumeID`), ...validatePartition(partition, `${path}.partition`)];
}

function validatePartition(partition: number, path: string): FieldError[] {
  return partition < 0 || partition > 255 ? [invalid(path, partition, 'must be between 1 and 255, inclusive')] : [];
}

export function validateNfs({ server, path: target = '' }: NFSVolumeSource, path: string): FieldError[] {
  const errors = [...requireText(server, `${path}.server`), ...requireText(target, `${path}.path`)];
  if (!target.startsWith('/')) errors.push(invalid(`${path}.path`, target, 'must be an absolute path'));
  return errors;
}

export function validateIscsi(
  iscsi: ISCSIVolumeSource,
  path: string,
  options: { readonly volumeName?: string; readonly otherForm: string },
): FieldError[] {
  const { targetPortal = '', iqn = '', lun = 0, initiatorName, secretRef } = iscsi;
  const errors = requireText(targetPortal, `${path}.targetPortal`);
  if (options.volumeName !== undefined && initiatorName !== undefined) {
    if (`${options.volumeName}:${targetPortal}`.length > 64) {
      const detail =
        'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
      errors.push(invalid(`${path}.targetportal`, targetPortal, detail));
    }
  }
  if (iqn === '') errors.push(required(`${path}.iqn`));
  else append(errors, validateIqn(iqn, `${path}.iqn`, options.otherForm));
  if (lun < 0 || lun > 255) errors.push(invalid(`${path}.lun`, lun, RANGE_255));
  if ((iscsi.chapAuthDiscovery === true || iscsi.chapAuthSession === true) && secretRef === undefined) {
    errors.push(required(`${path}.secretRef`));
  }
  if (options.volumeName !== undefined && secretRef !== undefined) {
    append(errors, requireText(secretRef.name, `${path}.secretRef.name`));
  }
  if (initiatorName !== undefined)
    append(errors, validateIqn(initiatorName, `${path}.initiatorname`, options.otherForm));
  return errors;
}

function validateIqn(name: string, path: string, otherForm: string): FieldError[] {
  const pattern = { iqn: IQN, eui: EUI, naa: NAA }[name.slice(0, 3)];
  if (pattern === undefined) return [invalid(path, name, otherForm)];
  return pattern.test(name) ? [] : [invalid(path, name, 'must be valid format')];
}

export function validateFlocker({ datasetName = '', datasetUUID = '' }: FlockerVolumeSource, path: string) {
  const errors: FieldError[] = [];
  if (datasetName === '' && datasetUUID === '') {
    errors.push(required(path, 'one of datasetName and datasetUUID is required'));
  }
  if (datasetName !== '' && datasetUUID !== '') {
    errors.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  if (datasetName.includes('/')) errors.push(invalid(`${path}.datasetName`, datasetName, "must not contain '/'"));
  return errors;
}

export function validateQuobyte({ registry = '', tenant = '', volume }: QuobyteVolumeSource, path: string) {
  const pairs = 'must be a host:port pair or multiple pairs separated by commas';
  const errors: FieldError[] = [];
  if (registry === '') errors.push(required(`${path}.registry`, pairs));
  else if (tenant.length >= 65) {
    errors.push(required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'));
  } else {
    for (const pair of registry.split(',')) {
      if (!/^([^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)) errors.push(invalid(`${path}.registry`, registry, pairs));
    }
  }
  return [...errors, ...requireText(volume, `${path}.volume`)];
}

export function validateFc({ targetWWNs = [], wwids = [], lun }: FCVolumeSource, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const at = `${path}.targetWWNs`;
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.push(required(at, 'must specify either targetWWNs or wwids, but not both'));
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    errors.push(invalid(at, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'));
  }
  if (targetWWNs.length === 0) return errors;
  if (lun === undefined) errors.push(required(`${path}.lun`, 'lun is required if targetWWNs is specified'));
  else if (lun < 0 || lun > 255) errors.push(invalid(`${path}.lun`, lun, RANGE_255));
  return errors;
}

export function validateFlexVolume(
  { driver, options = {} }: Pick<FlexVolumeSource, 'driver' | 'options'>,
  path: string,
) {
  const errors = requireText(driver, `${path}.driver`);
  for (const key of Object.keys(options)) {
    const [namespace = ''] = key.split('/', 1);
    if (!/\.(kubernetes|k8s)\.io$/.test(`.${namespace.toLowerCase()}`)) continue;
    errors.push(invalid(`${path}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'));
  }
  return errors;
}

const CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite'];
const DISK_KINDS = ['Dedicated', 'Managed', 'Shared'];
const MANAGED_URI = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const BLOB_URI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

export function validateAzureDisk(azure: AzureDiskVolumeSource, path: string): FieldError[] {
  const { diskName, diskURI = '', cachingMode, kind } = azure;
  const errors = [...requireText(diskName, `${path}.diskName`), ...requireText(diskURI, `${path}.diskURI`)];
  append(errors, oneOf(`${path}.cachingMode`, cachingMode, CACHING_MODES));
  append(errors, oneOf(`${path}.kind`, kind, DISK_KINDS));
  if (kind === 'Managed' && !diskURI.startsWith('/subscriptions/')) {
    errors.push(notSupported(`${path}.diskURI`, diskURI, [MANAGED_URI]));
  }
  if (kind !== undefined && kind !== 'Managed' && !diskURI.startsWith('https://')) {
    errors.push(notSupported(`${path}.diskURI`, diskURI, [BLOB_URI]));
  }
  return errors;
}
