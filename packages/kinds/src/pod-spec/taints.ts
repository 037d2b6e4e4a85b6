import { append } from '@gantry/base';
import { type FieldError, type Taint, labelValue, qualifiedName, required } from '@gantry/objects';
import { invalidAll, unsupported } from '@gantry/apimachinery';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Effect of a taint, or of a toleration, where it may be left out. */
export function validateTaintEffect(effect: string, path: string, empty: 'allowed' | 'required'): FieldError[] {
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
