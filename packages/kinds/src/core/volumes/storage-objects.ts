import type { PersistentVolumeSpec } from '@gantry/objects';

const SHORT_MODES: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
];
const NOT_SOURCE: ReadonlySet<string> = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

/** Access modes as tables print them. */
export function shortModes(modes: readonly string[] | undefined): string {
  return SHORT_MODES.filter(([mode]) => modes?.includes(mode) === true)
    .map(([, short]) => short)
    .join(',');
}

/** The part of a volume's spec that is its source. */
export function volumeSource(spec: PersistentVolumeSpec): PersistentVolumeSpec {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !NOT_SOURCE.has(name)));
}

/** Sets the defaults of a volume's source. Idempotent. */
export function defaultVolumeSource({ hostPath, rbd, iscsi, azureDisk, scaleIO }: PersistentVolumeSpec): void {
  if (hostPath !== undefined) hostPath.type ??= '';
  if (rbd !== undefined) {
    if ((rbd.pool ?? '') === '') rbd.pool = 'rbd';
    if ((rbd.user ?? '') === '') rbd.user = 'admin';
    if ((rbd.keyring ?? '') === '') rbd.keyring = '/etc/ceph/keyring';
  }
  if (iscsi !== undefined && (iscsi.iscsiInterface ?? '') === '') iscsi.iscsiInterface = 'default';
  if (azureDisk !== undefined) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= 'Shared';
  }
  if (scaleIO !== undefined) {
    if ((scaleIO.storageMode ?? '') === '') scaleIO.storageMode = 'ThinProvisioned';
    if ((scaleIO.fsType ?? '') === '') scaleIO.fsType = 'xfs';
  }
}
