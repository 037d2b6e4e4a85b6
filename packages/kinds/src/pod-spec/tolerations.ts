import { append } from '@gantry/base';
import {
  type FieldError,
  invalid,
  labelValue,
  qualifiedName,
  required,
  type Taint,
  type Toleration,
} from '@gantry/objects';
import { invalidAll, unsupported } from '@gantry/apimachinery';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Checks the effect of a taint or a toleration; a toleration may omit it. */
function validateTaintEffect(effect: string, path: string, empty: 'allowed' | 'required'): FieldError[] {
  if (effect === '') return empty === 'allowed' ? [] : [required(path)];
  return EFFECTS.includes(effect) ? [] : [unsupported(path, effect, EFFECTS)];
}

export function validateTaints(taints: readonly Taint[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  taints.forEach((taint, i) => {
    const { key = '', value = '', effect = '' } = taint;
    const at = `${path}[${i}]`;
    append(errors, invalidAll(`${at}.key`, key, qualifiedName(key)));
    const complaints = labelValue(value);
    if (complaints.length > 0) append(errors, invalidAll(`${at}.value`, value, [complaints.join(';')]));
    append(errors, validateTaintEffect(effect, `${at}.effect`, 'required'));
    const identity = `${effect}:${key}`;
    if (seen.has(identity)) {
      errors.push({
        type: 'FieldValueDuplicate',
        field: at,
        value: { Key: key, Value: value, Effect: effect, TimeAdded: taint.timeAdded ?? null },
        detail: 'taints must be unique by key and effect pair',
      });
    }
    seen.add(identity);
  });
  return errors;
}

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
