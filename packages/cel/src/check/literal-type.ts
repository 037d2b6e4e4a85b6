import { BOOL, BYTES, type CelType, DOUBLE, INT, NULL, STRING, UINT } from '../types.ts';
import { type CelValue } from '../values/value.ts';

/** The type of a literal's value. */
export function literalType(value: CelValue): CelType {
  if (value === null) return NULL;
  switch (typeof value) {
    case 'boolean':
      return BOOL;
    case 'bigint':
      return INT;
    case 'number':
      return DOUBLE;
    case 'string':
      return STRING;
    default:
      return value instanceof Uint8Array ? BYTES : UINT;
  }
}
