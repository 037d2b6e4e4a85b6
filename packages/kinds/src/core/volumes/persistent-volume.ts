import { append, formatTime } from '@gantry/base';
import {
  type FieldError,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeSpec,
  equalJson,
  forbidden,
  invalid,
  BETA_ZONE_LABEL,
  ZONE_LABEL,
  BETA_REGION_LABEL,
  REGION_LABEL,
  BETA_OS_LABEL,
  OS_LABEL,
  BETA_ARCH_LABEL,
  ARCH_LABEL,
  BETA_INSTANCE_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  MOUNT_OPTIONS_ANNOTATION,
  STORAGE_CLASS_ANNOTATION,
  classOfVolume,
} from '@gantry/objects';
import {
  describedAs,
  PART_VERBS,
  type StrategyContext,
  ageColumn,
  column,
  defineResource,
  immutable,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';
import { oldLabelAdvice } from '../../fields/deprecated-labels.ts';
import { validateVolumeSpec } from './persistent-volume-spec.ts';
import { defaultVolumeSource, shortModes, volumeSource } from './storage-objects.ts';
import { diffVolumeSources } from './changed-specs.ts';

const OLD_ANNOTATIONS: readonly (readonly [string, string])[] = [
  [STORAGE_CLASS_ANNOTATION, 'deprecated since v1.8; use "storageClassName" attribute instead'],
  [MOUNT_OPTIONS_ANNOTATION, 'deprecated since v1.31; use "mountOptions" attribute instead'],
];
const OLD_SOURCES: readonly (readonly [keyof PersistentVolumeSpec, string])[] = [
  ['cephfs', 'cephfs: deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO: deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS: deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs: deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd: deprecated in v1.28, non-functional in v1.31+'],
];
/** Sources that support mount options in an annotation, which was used before there was a field. */
const MOUNTABLE: readonly (keyof PersistentVolumeSpec)[] = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
];

function applyDefaults(object: PersistentVolume): void {
  const status = (object.status ??= {});
  if ((status.phase ?? '') === '') status.phase = 'Pending';
  const spec = (object.spec ??= {});
  if ((spec.persistentVolumeReclaimPolicy ?? '') === '') spec.persistentVolumeReclaimPolicy = 'Retain';
  spec.volumeMode ??= 'Filesystem';
  defaultVolumeSource(spec);
}

function prepareForCreate(object: PersistentVolume, { now }: StrategyContext): void {
  object.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) };
}

function prepareForUpdate(object: PersistentVolume, old: PersistentVolume): void {
  object.status = { ...old.status };
}

/** A changed phase without a time gets the current time. */
function prepareForStatus(object: PersistentVolume, old: PersistentVolume, { now }: StrategyContext): void {
  object.spec = { ...old.spec };
  const status = (object.status ??= {});
  const before = old.status?.lastPhaseTransitionTime;
  if (status.phase === old.status?.phase) {
    if (before !== undefined) status.lastPhaseTransitionTime ??= before;
  } else if (status.lastPhaseTransitionTime === undefined || status.lastPhaseTransitionTime === before) {
    status.lastPhaseTransitionTime = formatTime(now);
  }
}

function validate({ spec = {}, metadata }: PersistentVolume): FieldError[] {
  const errors = validateVolumeSpec(spec, metadata.name ?? '', 'spec');
  if (
    metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION] !== undefined &&
    MOUNTABLE.every((name) => spec[name] === undefined)
  ) {
    const detail = 'may not specify mount options for this volume type';
    errors.push(forbidden(`metadata.annotations.${MOUNT_OPTIONS_ANNOTATION}`, detail));
  }
  return errors;
}

function validateUpdate(object: PersistentVolume, old: PersistentVolume): FieldError[] {
  const spec = object.spec ?? {};
  const before = old.spec ?? {};
  const errors: FieldError[] = validateVolumeSpec(spec, object.metadata.name ?? '', 'spec');
  const source = volumeSource(spec);
  // The secret with which a driver expands volumes may be set later.
  if (source.csi !== undefined && before.csi !== undefined && before.csi.controllerExpandSecretRef === undefined) {
    source.csi = { ...source.csi };
    delete source.csi.controllerExpandSecretRef;
  }
  if (!equalJson(source, volumeSource(before))) {
    const difference = diffVolumeSources(volumeSource(before), source);
    const detail = `spec.persistentvolumesource is immutable after creation\n${difference}`;
    errors.push(forbidden('spec.persistentvolumesource', detail));
  }
  append(errors, immutable('volumeMode', spec.volumeMode, before.volumeMode));
  if (before.nodeAffinity !== undefined && !sameNodes(spec, before)) {
    const detail = 'field is immutable, except for updating from beta label to GA';
    errors.push(invalid('nodeAffinity', spec.nodeAffinity, detail));
  }
  if (before.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    errors.push(forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden'));
  }
  return errors;
}

const NEW_LABELS: Readonly<Record<string, string>> = {
  [BETA_ZONE_LABEL]: ZONE_LABEL,
  [BETA_REGION_LABEL]: REGION_LABEL,
  [BETA_OS_LABEL]: OS_LABEL,
  [BETA_ARCH_LABEL]: ARCH_LABEL,
  [BETA_INSTANCE_TYPE_LABEL]: INSTANCE_TYPE_LABEL,
};

/** Whether the volume is accessible from the same nodes; deprecated labels may be replaced by their new names. */
function sameNodes(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const before = old.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  if (spec.nodeAffinity === undefined || terms.length !== before.length) return false;
  const renamed = before.map((term, i) => ({
    ...term,
    ...(term.matchExpressions === undefined
      ? {}
      : {
          matchExpressions: term.matchExpressions.map((item, j) => {
            const key = terms[i]?.matchExpressions?.[j]?.key;
            // A key without a newer name may be removed, as in Kubernetes.
            return key !== undefined && (NEW_LABELS[item.key] ?? '') === key ? { ...item, key } : item;
          }),
        }),
  }));
  return equalJson(terms, renamed);
}

function warnings({ metadata, spec = {} }: PersistentVolume): string[] {
  const texts = OLD_ANNOTATIONS.filter(([key]) => metadata.annotations?.[key] !== undefined).map(
    ([key, advice]) => `metadata.annotations[${key}]: ${advice}`,
  );
  if (spec.persistentVolumeReclaimPolicy === 'Recycle') {
    texts.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    );
  }
  const terms = 'spec.nodeAffinity.required.nodeSelectorTerms';
  (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).forEach((term, i) => {
    (term.matchExpressions ?? []).forEach(({ key }, j) => {
      const advice = oldLabelAdvice(key);
      if (advice !== undefined) texts.push(`${terms}[${i}].matchExpressions[${j}].key: ${key} is ${advice}`);
    });
  });
  return [...texts, ...OLD_SOURCES.filter(([name]) => spec[name] !== undefined).map(([, text]) => `spec.${text}`)];
}

function claim({ spec }: PersistentVolume): string {
  return spec?.claimRef === undefined ? '' : `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`;
}

export const persistentVolumes = defineResource(PERSISTENT_VOLUMES, {
  shortNames: ['pv'],
  schema: 'core.v1.PersistentVolume',
  strategy: {
    deletionResponse: 'object',
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    validateUpdate,
    warnings,
    metadataOnUpdate: 'object twice',
  },
  subresources: [{ name: 'status', verbs: PART_VERBS, prepareForUpdate: prepareForStatus }],
  columns: [
    nameColumn,
    column(
      'Capacity',
      describedAs('core.v1.PersistentVolumeSpec', 'capacity'),
      ({ spec }) => spec?.capacity?.['storage'] ?? '0',
    ),
    column('Access Modes', describedAs('core.v1.PersistentVolumeSpec', 'accessModes'), ({ spec }) =>
      shortModes(spec?.accessModes),
    ),
    fieldColumn('Reclaim Policy', 'core.v1.PersistentVolumeSpec', 'spec.persistentVolumeReclaimPolicy'),
    column('Status', describedAs('core.v1.PersistentVolumeStatus', 'phase'), ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    ),
    column(
      'Claim',
      'claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding',
      claim,
    ),
    column('StorageClass', 'StorageClass of the pv', classOfVolume),
    column(
      'VolumeAttributesClass',
      'VolumeAttributesClass of the pv',
      ({ spec }) => spec?.volumeAttributesClassName ?? '<unset>',
    ),
    fieldColumn('Reason', 'core.v1.PersistentVolumeStatus', 'status.reason'),
    ageColumn,
    fieldColumn('VolumeMode', 'core.v1.PersistentVolumeSpec', 'spec.volumeMode', { none: '<unset>', wide: 'wide' }),
  ],
});
