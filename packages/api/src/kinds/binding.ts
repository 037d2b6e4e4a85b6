import { type FieldError, required } from '../field-error.ts';
import type { Binding } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { unsupported } from './rules/errors.ts';

/** Rules on a Binding, posted to `bindings` or to `pods/<name>/binding`. */
export function validateBinding(object: Binding): FieldError[] {
  const errors: FieldError[] = [];
  const { kind = '', name = '' } = object.target ?? {};
  if (kind !== '' && kind !== 'Node') errors.push(unsupported('target.kind', kind, ['Node', '<empty>']));
  if (name === '') errors.push(required('target.name'));
  return errors;
}

export const bindings: ResourceDefinition<Binding> = {
  group: '',
  version: 'v1',
  kind: 'Binding',
  resource: 'bindings',
  singular: 'binding',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'core.v1.Binding',
  verbs: ['create'],
  strategy: { validate: validateBinding },
  subresources: [],
  columns: [],
  selectableFields: {},
  stored: false,
};
