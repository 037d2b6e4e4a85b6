import { append } from '@gantry/base';
import {
  type FieldError,
  STORAGE_CLASSES,
  type StorageClass,
  type TopologySelectorTerm,
  duplicate,
  equalJson,
  notSupported,
  qualifiedName,
  required,
  DEFAULT_STORAGE_CLASS_MARKS,
  oneOf,
} from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  immutable,
  invalidAll,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';
import { oldLabelAdvice } from '../fields/deprecated-labels.ts';
import { validateParameters, validateProvisioner } from './drivers.ts';

const RECLAIM_POLICIES = ['Delete', 'Retain'];
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer'];

function applyDefaults(object: StorageClass): void {
  object.reclaimPolicy ??= 'Delete';
  object.volumeBindingMode ??= 'Immediate';
}

function validate(object: StorageClass): FieldError[] {
  const { provisioner, parameters, reclaimPolicy = '', volumeBindingMode = '', allowedTopologies = [] } = object;
  const errors = [...validateProvisioner(provisioner, 'provisioner'), ...validateParameters(parameters, 'parameters')];
  if (reclaimPolicy !== '' && !RECLAIM_POLICIES.includes(reclaimPolicy)) {
    errors.push(notSupported('reclaimPolicy', reclaimPolicy, RECLAIM_POLICIES));
  }
  append(errors, oneOf('volumeBindingMode', volumeBindingMode, BINDING_MODES));
  return [...errors, ...validateTopologies(allowedTopologies)];
}

function validateTopologies(terms: readonly TopologySelectorTerm[]): FieldError[] {
  const errors: FieldError[] = [];
  // Kubernetes compares with as many empty terms as there are terms, so an empty term always counts as a duplicate.
  const seen: Record<string, string[]>[] = terms.map(() => ({}));
  terms.forEach((term, i) => {
    const at = `allowedTopologies[${i}].matchLabelExpressions`;
    const byKey: Record<string, string[]> = {};
    (term.matchLabelExpressions ?? []).forEach(({ key = '', values: given }, j) => {
      const values = given ?? [];
      if (values.length === 0) errors.push(required(`${at}[${j}].values`));
      values.forEach((value, k) => {
        if (values.indexOf(value) < k) errors.push(duplicate(`${at}[${j}].values[${k}]`, value));
      });
      append(errors, invalidAll(`${at}[${j}].key`, key, qualifiedName(key)));
      if (key in byKey) errors.push(duplicate(`${at}[${j}].key`, key));
      byKey[key] = [...new Set(values)].sort();
    });
    for (const other of seen) if (equalJson(other, byKey)) errors.push(duplicate(at, ''));
    seen.push(byKey);
  });
  return errors;
}

function validateUpdate(object: StorageClass, old: StorageClass): FieldError[] {
  return [
    ...immutable('parameters', object.parameters, old.parameters),
    ...immutable('provisioner', object.provisioner, old.provisioner),
    ...immutable('reclaimPolicy', object.reclaimPolicy, old.reclaimPolicy),
    ...immutable('volumeBindingMode', object.volumeBindingMode, old.volumeBindingMode),
  ];
}

function warnings({ allowedTopologies = [] }: StorageClass): string[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
    matchLabelExpressions.flatMap(({ key }, j) => {
      const advice = oldLabelAdvice(key);
      return advice === undefined ? [] : [`allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${advice}`];
    }),
  );
}

function name({ metadata: { name: own = '', annotations = {} } }: StorageClass): string {
  return DEFAULT_STORAGE_CLASS_MARKS.some((mark) => annotations[mark] === 'true') ? `${own} (default)` : own;
}

export const storageClasses = defineResource(STORAGE_CLASSES, {
  shortNames: ['sc'],
  schema: 'storage.v1.StorageClass',
  strategy: {
    deletionResponse: 'object',
    applyDefaults,
    validate,
    validateUpdate,
    metadataOnUpdate: 'whole first',
    warnings,
  },
  columns: [
    { ...nameColumn, value: name },
    column('Provisioner', describedAs('storage.v1.StorageClass', 'provisioner'), (object) => object.provisioner),
    fieldColumn('ReclaimPolicy', 'storage.v1.StorageClass', 'reclaimPolicy', { none: 'Delete' }),
    fieldColumn('VolumeBindingMode', 'storage.v1.StorageClass', 'volumeBindingMode', { none: 'Immediate' }),
    fieldColumn('AllowVolumeExpansion', 'storage.v1.StorageClass', 'allowVolumeExpansion', { none: false }),
    ageColumn,
  ],
});
