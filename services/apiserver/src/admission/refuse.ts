import { StatusError } from '@gantry/api';
import type { AdmissionRequest } from './admission-check.ts';

/** The answer of a check that says no: `pods "p" is forbidden: <why>`. */
export function refuse({ definition, name }: AdmissionRequest, why: string): StatusError {
  return StatusError.forbidden({ group: definition.group, resource: definition.resource }, name, why);
}

/** Several complaints as one text: alone as it is, else each once in brackets. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
