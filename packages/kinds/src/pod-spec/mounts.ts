import { append } from '@gantry/base';
import {
  type Container,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  oneOf,
  repeatedAt,
  required,
  type Volume,
  type VolumeDevice,
  type VolumeMount,
} from '@gantry/objects';
import { notFound } from '@gantry/apimachinery';
import { validateDescendingPath } from '../fields/file-paths.ts';

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];
const READ_ONLY_MODES = ['Disabled', 'Enabled', 'IfPossible'];

export function validateVolumeMounts(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): FieldError[] {
  const taken = new Set<string>();
  const devices = container.volumeDevices ?? [];
  return (container.volumeMounts ?? []).flatMap((mount, i) => {
    const at = `${path}[${i}]`;
    const { name = '', mountPath = '' } = mount;
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(`${at}.name`));
    if (!volumes.has(name)) errors.push(notFound(`${at}.name`, name));
    if (mountPath === '') errors.push(required(`${at}.mountPath`));
    if (taken.has(mountPath)) errors.push(invalid(`${at}.mountPath`, mountPath, 'must be unique'));
    taken.add(mountPath);
    if (devices.some((device) => device.name === name)) {
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeDevices'));
    }
    if (devices.some((device) => device.devicePath === mountPath)) {
      errors.push(invalid(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'));
    }
    return [...errors, ...validateSubPaths(mount, path, at), ...validateModes(mount, container, path)];
  });
}

function validateSubPaths({ subPath = '', subPathExpr = '' }: VolumeMount, list: string, path: string): FieldError[] {
  const errors = subPath === '' ? [] : validateDescendingPath(subPath, `${list}.subPath`);
  if (subPathExpr === '') return errors;
  if (subPath !== '') {
    errors.push(invalid(`${path}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'));
  }
  return [...errors, ...validateDescendingPath(subPathExpr, `${list}.subPathExpr`)];
}

function validateModes(mount: VolumeMount, container: Container, list: string): FieldError[] {
  const errors: FieldError[] = [];
  const { mountPropagation, recursiveReadOnly, readOnly } = mount;
  if (mountPropagation !== undefined) {
    const at = `${list}.mountPropagation`;
    if (!PROPAGATIONS.includes(mountPropagation)) append(errors, oneOf(at, mountPropagation, PROPAGATIONS));
    else if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
      errors.push(forbidden(at, 'Bidirectional mount propagation is available only to privileged containers'));
    }
  }
  if (recursiveReadOnly === undefined || recursiveReadOnly === 'Disabled') return errors;
  const at = `${list}.recursiveReadOnly`;
  if (!READ_ONLY_MODES.includes(recursiveReadOnly))
    return [...errors, notSupported(at, recursiveReadOnly, READ_ONLY_MODES)];
  if (readOnly !== true) errors.push(forbidden(at, 'may only be specified when readOnly is true'));
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    errors.push(forbidden(at, 'may only be specified when mountPropagation is None or not specified'));
  }
  return errors;
}

export function validateVolumeDevices(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): FieldError[] {
  const mounts = container.volumeMounts ?? [];
  const devices = container.volumeDevices ?? [];
  const mounted = new Set(mounts.map(({ name }) => name));
  const isNameRepeated = repeatedAt(devices.map(({ name = '' }) => name));
  const isPathRepeated = repeatedAt(devices.map(({ devicePath = '' }) => devicePath));
  return devices.flatMap((device: VolumeDevice, i) => {
    const at = `${path}[${i}]`;
    const { name = '', devicePath = '' } = device;
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(`${at}.name`));
    if (isNameRepeated(i)) {
      errors.push(invalid(`${at}.name`, name, 'must be unique'));
    }
    const volume = volumes.get(name);
    if (volume === undefined) errors.push(notFound(`${at}.name`, name));
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      errors.push(invalid(`${at}.name`, name, detail));
    }
    if (devicePath === '') errors.push(required(`${at}.devicePath`));
    if (devicePath !== '' && isPathRepeated(i)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, 'must be unique'));
    }
    if (devicePath.split('/').includes('..')) {
      errors.push(invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    }
    if (mounted.has(name)) {
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeMounts'));
    }
    if (mounts.some((mount) => mount.mountPath === devicePath)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'));
    }
    return errors;
  });
}
