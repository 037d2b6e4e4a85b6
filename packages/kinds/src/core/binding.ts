import { BINDINGS, type Binding, type FieldError, required } from '@gantry/objects';
import { defineResource, unsupported } from '@gantry/apimachinery';

/** Rules on a Binding, posted to `bindings` or to `pods/<name>/binding`. */
export function validateBinding(object: Binding): FieldError[] {
  const errors: FieldError[] = [];
  const { kind = '', name = '' } = object.target ?? {};
  if (kind !== '' && kind !== 'Node') errors.push(unsupported('target.kind', kind, ['Node', '<empty>']));
  if (name === '') errors.push(required('target.name'));
  return errors;
}

export const bindings = defineResource(BINDINGS, {
  schema: 'core.v1.Binding',
  verbs: ['create'],
  strategy: { validate: validateBinding },
  columns: [],
  stored: false,
});
