import {
  type CrossVersionObjectReference as ObjectReference,
  type FieldError,
  invalid,
  pathSegment,
  required,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

/** How strictly the API version is checked: not at all, well-formed, or well-formed with a group. */
export type ApiVersionRule = 'any' | 'formed' | 'grouped';

/** Checks a reference to an object of any kind. */
export function validateReference(
  reference: ObjectReference | undefined,
  rule: ApiVersionRule,
  path: string,
): FieldError[] {
  const errors = (['kind', 'name'] as const).flatMap((field) => {
    const value = reference?.[field] ?? '';
    return value === ''
      ? [required(`${path}.${field}`)]
      : invalidAll(`${path}.${field}`, value, pathSegment(value, false));
  });
  const fault = apiVersionFault(reference, rule);
  if (fault !== undefined) errors.push(invalid(`${path}.apiVersion`, reference?.apiVersion ?? '', fault));
  return errors;
}

/** The error in the API version; undefined if there is none. */
export function apiVersionFault(reference: ObjectReference | undefined, rule: ApiVersionRule): string | undefined {
  const version = reference?.apiVersion ?? '';
  if (rule === 'any') return undefined;
  if (version.split('/').length > 2) return `unexpected GroupVersion string: ${version}`;
  const isGrouped = version.includes('/') && !version.startsWith('/');
  return rule === 'grouped' && !isGrouped ? 'apiVersion must specify API group' : undefined;
}
