import { schemaOf, type SchemaRef, type Type } from '../schema/type-schema.ts';
import { FieldSet } from './field-set.ts';
import { memberType } from './shape.ts';

/**
 * A set of fields under the schema of today: what lies in a part that has become atomic is that part. The very set when nothing
 * has changed. Schemas with a name never change.
 */
export function reconcileFields(fields: FieldSet, schema: SchemaRef): FieldSet {
  if (typeof schema === 'string') return fields;
  const atomic = new FieldSet();
  collectAtomic(atomic, [], schemaOf(schema), fields);
  if (atomic.empty) return fields;
  return fields.recursiveDifference(atomic).union(atomic);
}

function collectAtomic(atomic: FieldSet, path: readonly string[], type: Type, below: FieldSet): void {
  const isAtomic = type.kind === 'list' ? type.listType === 'atomic' : 'atomic' in type && type.atomic;
  if (isAtomic && path.length > 0) {
    atomic.insert(path);
    return;
  }
  for (const element of below.elements()) {
    const deeper = below.below(element);
    const inner = innerType(type, element);
    if (deeper !== undefined && !deeper.empty && inner !== undefined)
      collectAtomic(atomic, [...path, element], inner, deeper);
  }
}

function innerType(type: Type, element: string): Type | undefined {
  if (type.kind === 'list') return type.items;
  if (type.kind !== 'struct' && type.kind !== 'map') return undefined;
  return element.startsWith('f:') ? memberType(type, element.slice(2)) : undefined;
}
