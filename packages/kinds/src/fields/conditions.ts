import {
  type Condition,
  duplicate,
  type FieldError,
  invalid,
  patternMessage,
  qualifiedName,
  repeatedAt,
  required,
  tooLong,
} from '@gantry/objects';
import { invalidAll, unsupported } from '@gantry/apimachinery';

const STATUSES = ['False', 'True', 'Unknown'];
const MAX_REASON_BYTES = 1024;
const MAX_MESSAGE_BYTES = 32 * 1024;
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/** Checks metav1 conditions: one per type, each complete. */
export function validateConditions(conditions: readonly Condition[] | undefined, path: string): FieldError[] {
  const list = conditions ?? [];
  const isTaken = repeatedAt(list.map(({ type = '' }) => type));
  return list.flatMap((condition, i) => {
    const { type = '' } = condition;
    const errors = validateCondition(condition, `${path}[${i}]`);
    return isTaken(i) ? [duplicate(`${path}[${i}].type`, type), ...errors] : errors;
  });
}

function validateCondition(condition: Condition, path: string): FieldError[] {
  const { type = '', status = '', observedGeneration = 0, lastTransitionTime, reason = '', message = '' } = condition;
  const errors = invalidAll(`${path}.type`, type, qualifiedName(type));
  if (!STATUSES.includes(status)) errors.push(unsupported(`${path}.status`, status, STATUSES));
  if (observedGeneration < 0) {
    const detail = 'must be greater than or equal to zero';
    errors.push(invalid(`${path}.observedGeneration`, observedGeneration, detail));
  }
  if (lastTransitionTime === undefined || lastTransitionTime === null) {
    errors.push(required(`${path}.lastTransitionTime`));
  }
  if (reason === '') errors.push(required(`${path}.reason`));
  else if (!REASON.test(reason)) {
    const head =
      "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
    const detail = patternMessage(head, REASON, 'my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB');
    errors.push(invalid(`${path}.reason`, reason, detail));
  }
  if (Buffer.byteLength(reason) > MAX_REASON_BYTES) errors.push(tooLong(`${path}.reason`, MAX_REASON_BYTES));
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) errors.push(tooLong(`${path}.message`, MAX_MESSAGE_BYTES));
  return errors;
}
