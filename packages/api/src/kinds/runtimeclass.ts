import { append } from '@gantry/base';
import { duplicate, type FieldError, invalid, required } from '../field-error.ts';
import type { RuntimeClass, Toleration } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { validateResourceRequirements } from './rules/compute-resources.ts';
import { IMMUTABLE, invalidAll } from './rules/errors.ts';
import { validateLabels } from './rules/labels.ts';
import { dns1123Label } from './rules/names.ts';
import { DEPRECATED_NODE_LABELS } from './rules/node-labels.ts';
import { validateTolerations } from './rules/tolerations.ts';
import { STORED_VERBS } from './verbs.ts';

function validate({ handler = '', overhead, scheduling }: RuntimeClass): FieldError[] {
  const errors = handler === '' ? [required('handler')] : invalidAll('handler', handler, dns1123Label(handler));
  if (overhead !== undefined) {
    append(errors, validateResourceRequirements({ limits: overhead.podFixed ?? {} }, 'overhead'));
  }
  if (scheduling === undefined) return errors;
  const { nodeSelector, tolerations = [] } = scheduling;
  append(errors, validateLabels(nodeSelector, 'scheduling.nodeSelector'));
  append(errors, validateTolerations(tolerations, 'scheduling.tolerations'));
  return [...errors, ...validateDistinct(tolerations)];
}

function validateDistinct(tolerations: readonly Toleration[]): FieldError[] {
  const keys = tolerations.map(({ key = '', operator = '', value = '', effect = '' }) =>
    JSON.stringify([key, operator, value, effect]),
  );
  return tolerations.flatMap((toleration, i) => {
    if (keys.indexOf(keys[i] ?? '') === i) return [];
    const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration;
    const printed = { Key: key, Operator: operator, Value: value, Effect: effect };
    return [duplicate(`scheduling.tolerations[${i}]`, { ...printed, TolerationSeconds: tolerationSeconds ?? null })];
  });
}

function warnings({ scheduling }: RuntimeClass): string[] {
  return Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => {
    const why = DEPRECATED_NODE_LABELS[key];
    return why === undefined ? [] : [`scheduling.nodeSelector: ${why}`];
  });
}

export const runtimeClasses: ResourceDefinition<RuntimeClass> = {
  group: 'node.k8s.io',
  version: 'v1',
  kind: 'RuntimeClass',
  resource: 'runtimeclasses',
  singular: 'runtimeclass',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'node.v1.RuntimeClass',
  verbs: STORED_VERBS,
  strategy: {
    finalizers: 'qualified',
    validate,
    warnings,
    validateUpdate: ({ handler = '' }, old) =>
      handler === (old.handler ?? '') ? [] : [invalid('handler', handler, IMMUTABLE)],
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
  },
  subresources: [],
  columns: [nameColumn, column('Handler', 'What runs the pods.', ({ handler }) => handler ?? ''), ageColumn],
  selectableFields: {},
  stored: true,
};
