import { append } from '@gantry/base';
import {
  type FieldError,
  RUNTIME_CLASSES,
  type RuntimeClass,
  type Toleration,
  dns1123Label,
  duplicate,
  invalid,
  required,
} from '@gantry/objects';
import {
  IMMUTABLE,
  ageColumn,
  column,
  defineResource,
  invalidAll,
  nameColumn,
  validateLabels,
} from '@gantry/apimachinery';
import { validateResourceRequirements } from '../pod-spec/compute-resources.ts';
import { oldLabelAdvice } from '../fields/deprecated-labels.ts';
import { validateTolerations } from '../pod-spec/tolerations.ts';

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
  const seen = new Set<string>();
  return tolerations.flatMap(({ key = '', operator = '', value = '', effect = '', tolerationSeconds }, i) => {
    const text = JSON.stringify([key, operator, value, effect]);
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    const printed = { Key: key, Operator: operator, Value: value, Effect: effect };
    return [duplicate(`scheduling.tolerations[${i}]`, { ...printed, TolerationSeconds: tolerationSeconds ?? null })];
  });
}

function warnings({ scheduling }: RuntimeClass): string[] {
  return Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => {
    const why = oldLabelAdvice(key);
    return why === undefined ? [] : [`scheduling.nodeSelector: ${why}`];
  });
}

export const runtimeClasses = defineResource(RUNTIME_CLASSES, {
  schema: 'node.v1.RuntimeClass',
  strategy: {
    finalizers: 'qualified',
    validate,
    warnings,
    validateUpdate: ({ handler = '' }, old) =>
      handler === (old.handler ?? '') ? [] : [invalid('handler', handler, IMMUTABLE)],
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
  },
  columns: [nameColumn, column('Handler', '', ({ handler }) => handler ?? ''), ageColumn],
});
