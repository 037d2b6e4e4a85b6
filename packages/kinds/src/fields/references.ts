import { type FieldError, dns1123Subdomain, pathSegment, required } from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

/** Checks a field that must be usable in a URL path: a kind, a name. */
export function validateSegment(text: string | undefined, path: string): FieldError[] {
  if (text === undefined || text === '') return [required(path)];
  return invalidAll(path, text, pathSegment(text, false));
}

/** Checks a reference to an object of any kind by group, kind and name. */
export function validateTypedReference(
  reference: { readonly apiGroup?: string; readonly kind?: string; readonly name?: string },
  path: string,
): FieldError[] {
  const { apiGroup, kind, name } = reference;
  return [
    ...(apiGroup === undefined ? [] : invalidAll(`${path}.apiGroup`, apiGroup, dns1123Subdomain(apiGroup))),
    ...validateSegment(kind, `${path}.kind`),
    ...validateSegment(name, `${path}.name`),
  ];
}
