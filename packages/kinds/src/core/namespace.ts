import { type FieldError, NAMESPACES, type Namespace, invalid, labelName } from '@gantry/objects';
import { PART_VERBS, ageColumn, column, defineResource, nameColumn, validateFinalizerName } from '@gantry/apimachinery';

const NAME_LABEL = 'kubernetes.io/metadata.name';

/** Every namespace has its name as a label, so that selectors can select it. */
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

export const namespaces = defineResource(NAMESPACES, {
  shortNames: ['ns'],
  schema: 'core.v1.Namespace',
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  strategy: {
    deletionResponse: 'object',
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
      resetFields: { drop: [['status']] },
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
    column('Status', 'The status of the namespace', (object) => object.status?.phase ?? ''),
    ageColumn,
  ],
  selectableFields: {
    'status.phase': (object) => object.status?.phase ?? '',
  },
});
