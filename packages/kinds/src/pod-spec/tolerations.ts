import { append } from '@gantry/base';
import { type FieldError, type Toleration, invalid, labelValue, qualifiedName } from '@gantry/objects';
import { invalidAll, unsupported } from '@gantry/apimachinery';
import { validateTaintEffect } from './taints.ts';

export function validateTolerations(tolerations: readonly Toleration[] | undefined, path: string): FieldError[] {
  return (tolerations ?? []).flatMap((toleration, i) => validateToleration(toleration, `${path}[${i}]`));
}

function validateToleration(toleration: Toleration, path: string): FieldError[] {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration;
  const errors = key === '' ? [] : invalidAll(`${path}.key`, key, qualifiedName(key));
  if (key === '' && operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalid(`${path}.operator`, operator, detail));
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.push(invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  append(errors, validateOperator(toleration, operator, value, `${path}.operator`));
  return [...errors, ...validateTaintEffect(effect, `${path}.effect`, 'allowed')];
}

function validateOperator(toleration: Toleration, operator: string, value: string, path: string): FieldError[] {
  switch (operator) {
    case '':
    case 'Equal': {
      const complaints = labelValue(value);
      return complaints.length === 0 ? [] : [invalid(path, value, complaints.join(';'))];
    }
    case 'Exists':
      return value === ''
        ? []
        : [invalid(path, printed(toleration), "value must be empty when `operator` is 'Exists'")];
    default:
      return [unsupported(path, operator, ['Equal', 'Exists'])];
  }
}

function printed({ key = '', operator = '', value = '', effect = '', tolerationSeconds }: Toleration) {
  return { Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds: tolerationSeconds ?? null };
}
