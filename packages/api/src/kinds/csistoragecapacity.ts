import { type FieldError, invalid } from '../field-error.ts';
import type { CSIStorageCapacity } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import { parseQuantity } from '../quantity.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import { IMMUTABLE, invalidAll, NON_NEGATIVE } from './rules/errors.ts';
import { validateLabelSelector } from './rules/labels.ts';
import { dns1123Subdomain } from './rules/names.ts';
import { oldLabelAdvice } from './rules/old-labels.ts';
import { STORED_VERBS } from './verbs.ts';

function validate({ nodeTopology, storageClassName = '', capacity }: CSIStorageCapacity): FieldError[] {
  return [
    ...validateLabelSelector(nodeTopology, 'nodeTopology'),
    ...invalidAll('storageClassName', storageClassName, dns1123Subdomain(storageClassName)),
    ...(capacity !== undefined && parseQuantity(capacity).nano < 0n
      ? [invalid('capacity', capacity, NON_NEGATIVE)]
      : []),
  ];
}

function validateUpdate(object: CSIStorageCapacity, old: CSIStorageCapacity): FieldError[] {
  const errors: FieldError[] = [];
  if (!equalJson(object.nodeTopology, old.nodeTopology)) {
    errors.push(invalid('nodeTopology', object.nodeTopology, IMMUTABLE));
  }
  if (object.storageClassName !== old.storageClassName) {
    errors.push(invalid('storageClassName', object.storageClassName, IMMUTABLE));
  }
  return errors;
}

function warnings({ nodeTopology }: CSIStorageCapacity): string[] {
  const inExpressions = (nodeTopology?.matchExpressions ?? []).flatMap(({ key }, i) => {
    const advice = oldLabelAdvice(key);
    return advice === undefined ? [] : [`nodeTopology.matchExpressions[${i}].key: ${key} is ${advice}`];
  });
  const inLabels = Object.keys(nodeTopology?.matchLabels ?? {}).flatMap((key) => {
    const advice = oldLabelAdvice(key);
    return advice === undefined ? [] : [`nodeTopology.matchLabels.${key}: ${advice}`];
  });
  return [...inExpressions, ...inLabels];
}

export const csiStorageCapacities: ResourceDefinition<CSIStorageCapacity> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIStorageCapacity',
  resource: 'csistoragecapacities',
  singular: 'csistoragecapacity',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'storage.v1.CSIStorageCapacity',
  verbs: STORED_VERBS,
  strategy: { validate, validateUpdate, warnings, allowUnconditionalUpdate: false },
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: true,
};
