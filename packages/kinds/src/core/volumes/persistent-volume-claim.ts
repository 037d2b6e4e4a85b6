import { isNative } from '../../pod-spec/compute-resources.ts';
import { append } from '@gantry/base';
import {
  describedAs,
  IMMUTABLE,
  NON_NEGATIVE,
  PART_VERBS,
  ageColumn,
  cloneWithEmpty,
  column,
  defineResource,
  immutable,
  invalidAll,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';
import {
  type FieldError,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  type TypedObjectReference,
  cloneJson,
  compareQuantity,
  equalJson,
  forbidden,
  invalid,
  notSupported,
  parseQuantity,
  qualifiedName,
  quantityValue,
  required,
  STORAGE_CLASS_ANNOTATION,
  classOfClaim,
} from '@gantry/objects';
import { defaultClaimSpec, validateClaimSpec } from './claim-spec.ts';
import { diffClaimSpecs } from './changed-specs.ts';
import { shortModes } from './storage-objects.ts';
import { claimQuota } from './claim-quota.ts';
import { keepSpec } from '../../fields/status.ts';

const RESIZE_STATES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];
const NANO_PER_BYTE = 1_000_000_000n;

function applyDefaults(object: PersistentVolumeClaim): void {
  const status = (object.status ??= {});
  if ((status.phase ?? '') === '') status.phase = 'Pending';
  defaultClaimSpec((object.spec ??= {}));
}

function prepareForCreate(object: PersistentVolumeClaim): void {
  object.status = { phase: 'Pending' };
  settleSources((object.spec ??= {}), undefined);
}

function prepareForUpdate(object: PersistentVolumeClaim, old: PersistentVolumeClaim): void {
  object.status = { ...old.status };
  settleSources((object.spec ??= {}), old.spec);
}

/** Makes `dataSource` and `dataSourceRef` equal. Drops a `dataSource` that is not allowed for a new claim. */
function settleSources(spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec | undefined): void {
  // The feature for sources in other namespaces is off in this version.
  if ((spec.dataSourceRef?.namespace ?? '') !== '' && old?.dataSourceRef === undefined) delete spec.dataSourceRef;
  const hadSource = old?.dataSource !== undefined || old?.dataSourceRef !== undefined;
  if (!hadSource && spec.dataSourceRef === undefined && !isOldSource(spec.dataSource)) delete spec.dataSource;
  if (spec.dataSource !== undefined) spec.dataSourceRef ??= { ...spec.dataSource };
  else if (spec.dataSourceRef !== undefined && (spec.dataSourceRef.namespace ?? '') === '') {
    const { apiGroup, kind, name } = spec.dataSourceRef;
    spec.dataSource = { apiGroup, kind, name };
  }
}

function isOldSource(source: TypedObjectReference | undefined): boolean {
  const { kind, apiGroup } = source ?? {};
  if (kind === 'PersistentVolumeClaim') return (apiGroup ?? '') === '';
  return kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io';
}

function validate({ spec = {} }: PersistentVolumeClaim): FieldError[] {
  return validateClaimSpec(spec, 'spec');
}

function validateUpdate(object: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const before = old.spec ?? {};
  const spec = object.spec ?? {};
  const errors = validateClassAnnotation(object, old);
  const { munged, from } = withChangeable(object, old);
  if (!equalJson(munged, from)) {
    const what =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    errors.push(forbidden('spec', `${what}\n${diffClaimSpecs(from, munged)}`));
  }
  append(errors, [...validateSize(object, old), ...immutable('volumeMode', spec.volumeMode, before.volumeMode)]);
  const attributes = spec.volumeAttributesClassName;
  if (attributes !== before.volumeAttributesClassName && (attributes ?? '') === '') {
    const to = attributes === undefined ? 'nil' : 'empty string';
    if (old.status?.currentVolumeAttributesClassName !== undefined) {
      const detail = `update to ${to} is forbidden when status.currentVolumeAttributesClassName is not nil`;
      errors.push(forbidden('spec.volumeAttributesClassName', detail));
    }
  }
  return errors;
}

/** Whether the class moves from the annotation, which was used before there was a field. */
function movesClass({ metadata, spec }: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const before = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const now = metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  if (before === undefined || old.spec?.storageClassName !== undefined) return false;
  return spec?.storageClassName === before && (now === undefined || now === before);
}

function validateClassAnnotation(object: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  if (movesClass(object, old)) return [];
  const now = object.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? '';
  const before = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? '';
  return now === before ? [] : [invalid(`metadata.annotations.${STORAGE_CLASS_ANNOTATION}`, now, IMMUTABLE)];
}

/** Both specs without the fields that may differ. */
function withChangeable(
  object: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): { munged: PersistentVolumeClaimSpec; from: PersistentVolumeClaimSpec } {
  const munged = cloneWithEmpty(object.spec ?? {});
  const from = cloneJson(old.spec ?? {});
  settleSources(from, old.spec);
  if ((from.volumeName ?? '') === '' && munged.volumeName !== undefined) from.volumeName = munged.volumeName;
  const annotation = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  if (from.storageClassName === undefined && munged.storageClassName !== undefined) {
    if (annotation === undefined || munged.storageClassName === annotation) delete munged.storageClassName;
  }
  if (object.status?.phase !== 'Bound') return { munged, from };
  const size = from.resources?.requests?.['storage'];
  if (munged.resources?.requests !== undefined && size !== undefined) munged.resources.requests['storage'] = size;
  if (from.volumeAttributesClassName === undefined) delete munged.volumeAttributesClassName;
  else munged.volumeAttributesClassName = from.volumeAttributesClassName;
  return { munged, from };
}

/** A claim may shrink to the actual size of its volume, so that a failed expansion can be reverted. */
function validateSize(object: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const amount = (of: Record<string, string> | undefined) => parseQuantity(of?.['storage'] ?? '0');
  const now = amount(object.spec?.resources?.requests);
  if (compareQuantity(now, amount(old.spec?.resources?.requests)) >= 0) return [];
  if (compareQuantity(now, amount(old.status?.capacity)) > 0) return [];
  return [forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity')];
}

function validateStatus({ spec, status = {} }: PersistentVolumeClaim): FieldError[] {
  const errors: FieldError[] = (spec?.accessModes ?? []).length === 0 ? [required('Spec.accessModes')] : [];
  for (const [name, amount] of Object.entries(status.capacity ?? {})) {
    append(errors, validateAmount(amount, `status.capacity[${name}]`));
  }
  for (const [name, state] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    const at = 'status.allocatedResourceStatuses';
    append(errors, validateKey(name, at));
    if (!RESIZE_STATES.includes(state)) errors.push(notSupported(at, name, RESIZE_STATES));
  }
  for (const [name, amount] of Object.entries(status.allocatedResources ?? {})) {
    const wrong = validateKey(name, 'status.allocatedResources');
    append(errors, wrong.length > 0 ? wrong : validateAmount(amount, `status.allocatedResources[${name}]`));
  }
  return errors;
}

function validateAmount(amount: string, path: string): FieldError[] {
  const whole = quantityValue(amount);
  if (whole < 0) return [invalid(path, whole, 'must be a valid resource quantity')];
  return parseQuantity(amount).nano < 0n ? [invalid(path, amount, NON_NEGATIVE)] : [];
}

function validateKey(name: string, path: string): FieldError[] {
  const errors = invalidAll(path, name, qualifiedName(name));
  return errors.length === 0 && isNative(name) && name !== 'storage' ? [notSupported(path, name, ['storage'])] : errors;
}

function warnings({ metadata, spec }: PersistentVolumeClaim): string[] {
  const texts =
    metadata.annotations?.[STORAGE_CLASS_ANNOTATION] === undefined
      ? []
      : [
          `metadata.annotations[${STORAGE_CLASS_ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute instead`,
        ];
  for (const field of ['requests', 'limits'] as const) {
    const amount = spec?.resources?.[field]?.['storage'];
    if (amount === undefined || parseQuantity(amount).nano % NANO_PER_BYTE === 0n) continue;
    texts.push(
      `spec.resources.${field}[storage]: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`,
    );
  }
  return texts;
}

function capacity({ spec, status }: PersistentVolumeClaim): string {
  return (spec?.volumeName ?? '') === '' ? '' : (status?.capacity?.['storage'] ?? '0');
}

export const persistentVolumeClaims = defineResource(PERSISTENT_VOLUME_CLAIMS, {
  shortNames: ['pvc'],
  schema: 'core.v1.PersistentVolumeClaim',
  strategy: {
    deletionResponse: 'object',
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    validateUpdate,
    warnings,
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: keepSpec,
      validateUpdate: validateStatus,
    },
  ],
  quota: claimQuota,
  columns: [
    nameColumn,
    column('Status', describedAs('core.v1.PersistentVolumeClaimStatus', 'phase'), ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    ),
    fieldColumn('Volume', 'core.v1.PersistentVolumeClaimSpec', 'spec.volumeName'),
    column('Capacity', describedAs('core.v1.PersistentVolumeClaimStatus', 'capacity'), capacity),
    column('Access Modes', describedAs('core.v1.PersistentVolumeClaimStatus', 'accessModes'), ({ spec, status }) =>
      (spec?.volumeName ?? '') === '' ? '' : shortModes(status?.accessModes),
    ),
    column('StorageClass', 'StorageClass of the pvc', classOfClaim),
    column(
      'VolumeAttributesClass',
      'VolumeAttributesClass of the pvc',
      ({ spec }) => spec?.volumeAttributesClassName ?? '<unset>',
    ),
    ageColumn,
    fieldColumn('VolumeMode', 'core.v1.PersistentVolumeClaimSpec', 'spec.volumeMode', {
      none: '<unset>',
      wide: 'wide',
    }),
  ],
});
