import {
  BYTES,
  declaredBool,
  declaredDouble,
  declaredDyn,
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
  declaredTimestamp,
  type DeclaredType,
  MAX_REQUEST_BYTES,
} from '@gantry/cel';
import { escapeName } from '../rules/declared-schema.ts';
import type { ScalarKind, StructType, Type } from '@gantry/apimachinery';

const declaredBytes: DeclaredType = { type: BYTES, maxElements: MAX_REQUEST_BYTES - 2, minSerializedSize: 2 };
const SCALARS: Readonly<Record<ScalarKind, DeclaredType>> = {
  string: declaredString,
  bytes: declaredBytes,
  boolean: declaredBool,
  int32: declaredInt,
  int64: declaredInt,
  double: declaredDouble,
  time: declaredTimestamp,
  microTime: declaredTimestamp,
  quantity: declaredDyn,
  intOrString: declaredDyn,
};

/** The declared type of a built-in kind's objects, for type checking. Object types are named by their path. */
export function declaredKind(kind: StructType, name: string): DeclaredType {
  return declared(kind, name, []) ?? declaredDyn;
}

/** Undefined for a recursive type. */
function declared(type: Type, name: string, within: readonly Type[]): DeclaredType | undefined {
  switch (type.kind) {
    case 'scalar':
      return SCALARS[type.scalar];
    case 'any':
      return declaredDyn;
    case 'list': {
      const items = declared(type.items, `${name}.@idx`, within);
      return items && declaredList(items, MAX_REQUEST_BYTES);
    }
    case 'map': {
      const values = declared(type.values, `${name}.@elem`, within);
      return values && declaredMap(values, MAX_REQUEST_BYTES);
    }
    case 'struct': {
      if (within.some((outer) => outer.kind === 'struct' && outer.schema === type.schema)) return undefined;
      const fields = new Map<string, DeclaredType>();
      for (const [key, field] of type.fields) {
        const escaped = escapeName(key);
        const inner = declared(field.type, `${name}.${escaped ?? key}`, [...within, type]);
        if (escaped !== undefined && inner !== undefined) fields.set(escaped, inner);
      }
      return declaredObject(name, fields);
    }
  }
}
