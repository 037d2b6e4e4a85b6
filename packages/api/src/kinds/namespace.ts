import type { FieldError } from '../field-error.ts';
import type { Namespace } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { invalid } from '../field-error.ts';
import { labelName } from './rules/names.ts';
import { validateFinalizerName } from './rules/object-meta.ts';
import { PART_VERBS } from './verbs.ts';

const NAME_LABEL = 'kubernetes.io/metadata.name';

/** Every namespace carries its name as a label, so that selectors can choose it. */
function applyDefaults(object: Namespace): void {
  const status = (object.status ??= {});
  if ((status.phase ?? '') === '') status.phase = 'Active';
  const { name } = object.metadata;
  if (name === undefined || name === '') return;
  object.metadata.labels = { ...object.metadata.labels, [NAME_LABEL]: name };
}

function prepareForCreate(object: Namespace): void {
  object.status = { phase: 'Active' };
  const finalizers = object.spec?.finalizers ?? [];
  object.spec = {
    ...object.spec,
    finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
  };
}

function prepareForUpdate(object: Namespace, old: Namespace): void {
  object.spec = { ...object.spec, ...(old.spec?.finalizers === undefined ? {} : { finalizers: old.spec.finalizers }) };
  keepStatus(object, old);
}

function keepStatus(object: Namespace, old: Namespace): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

function validate(object: Namespace): FieldError[] {
  return (object.spec?.finalizers ?? []).flatMap((name) => validateFinalizerName(name, 'spec.finalizers'));
}

function validateStatusUpdate(object: Namespace): FieldError[] {
  const phase = object.status?.phase;
  if (object.metadata.deletionTimestamp === undefined) {
    return phase === 'Active'
      ? []
      : [invalid('status.Phase', phase ?? '', "may only be 'Active' if `deletionTimestamp` is empty")];
  }
  return phase === 'Terminating'
    ? []
    : [invalid('status.Phase', phase ?? '', "may only be 'Terminating' if `deletionTimestamp` is not empty")];
}

export const namespaces: ResourceDefinition<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  resource: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  namespaced: false,
  schema: 'core.v1.Namespace',
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  strategy: {
    validateName: labelName,
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    metadataOnUpdate: 'whole first',
  },
  subresources: [
    {
      name: 'finalize',
      verbs: ['update'],
      prepareForUpdate: keepStatus,
    },
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        if (old.spec === undefined) delete object.spec;
        else object.spec = old.spec;
      },
      validateUpdate: validateStatusUpdate,
    },
  ],
  columns: [
    nameColumn,
    column('Status', 'Whether the namespace is in use or being removed.', (object) => object.status?.phase ?? ''),
    ageColumn,
  ],
  selectableFields: {
    'status.phase': (object) => object.status?.phase ?? '',
  },
  stored: true,
};
