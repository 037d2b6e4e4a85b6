import {
  type CSIStorageCapacity,
  CSI_STORAGE_CAPACITIES,
  type FieldError,
  dns1123Subdomain,
  equalJson,
  invalid,
  parseQuantity,
} from '@gantry/objects';
import {
  IMMUTABLE,
  NON_NEGATIVE,
  createdAtColumn,
  defineResource,
  invalidAll,
  nameColumn,
  validateLabelSelector,
} from '@gantry/apimachinery';
import { oldLabelAdvice } from '../fields/deprecated-labels.ts';

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

export const csiStorageCapacities = defineResource(CSI_STORAGE_CAPACITIES, {
  schema: 'storage.v1.CSIStorageCapacity',
  strategy: { validate, validateUpdate, warnings, allowUnconditionalUpdate: false },
  columns: [nameColumn, createdAtColumn],
});
