import { type CustomResourceDefinitionNames, dns1035Label, type FieldError, invalid, required } from '@gantry/objects';

/** The names that a definition must have. */
export function validateNamesRequired(names: CustomResourceDefinitionNames | undefined): FieldError[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((name) => (names?.[name] ?? '') === '')
    .map((name) => required(`spec.names.${name}`));
}

/** The rules on names that are there, asked for or accepted. */
export function validateNames(names: CustomResourceDefinitionNames | undefined, path: string): FieldError[] {
  if (names === undefined) return [];
  const errors: FieldError[] = [];
  const label = (field: string, value: string | undefined) => {
    const wrong = (value ?? '') === '' ? [] : dns1035Label(value ?? '');
    if (wrong.length > 0) errors.push(invalid(`${path}.${field}`, value, wrong.join(',')));
  };
  label('plural', names.plural);
  label('singular', names.singular);
  for (const field of ['kind', 'listKind'] as const) {
    const value = names[field] ?? '';
    const wrong = value === '' ? [] : dns1035Label(value.toLowerCase());
    const detail = `may have mixed case, but should otherwise match: ${wrong.join(',')}`;
    if (wrong.length > 0) errors.push(invalid(`${path}.${field}`, value, detail));
  }
  const all = (field: string, values: readonly string[] | undefined) => {
    for (const [i, value] of (values ?? []).entries()) {
      const wrong = dns1035Label(value);
      if (wrong.length > 0) errors.push(invalid(`${path}.${field}[${i}]`, value, wrong.join(',')));
    }
  };
  all('shortNames', names.shortNames);
  if ((names.kind ?? '') !== '' && names.kind === names.listKind) {
    errors.push(invalid(`${path}.listKind`, names.listKind, 'kind and listKind may not be the same'));
  }
  all('categories', names.categories);
  return errors;
}
