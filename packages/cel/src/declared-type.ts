import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  structOf,
  TIMESTAMP,
  UINT,
} from './types.ts';

/**
 * A type that a schema declares: what the checker sees, the fields of objects, and how large values can be, from which costs are
 * estimated.
 */
export interface DeclaredType {
  readonly type: CelType;
  /** Of objects: fields by the name that expressions use (see escapeFieldName). */
  readonly fields?: ReadonlyMap<string, DeclaredType>;
  /** Of lists and maps. */
  readonly element?: DeclaredType;
  /** Largest size in elements, or bytes of a string. */
  readonly maxElements: number;
  /** Bytes of the smallest such value in JSON. */
  readonly minSerializedSize: number;
}

const scalar = (type: CelType, minSerializedSize: number): DeclaredType => ({
  type,
  maxElements: 0,
  minSerializedSize,
});

/** Types of built-in values, as variables that no schema describes have them. */
export const declaredBool = scalar(BOOL, 4);
export const declaredBytes = scalar(BYTES, 2);
export const declaredDouble = scalar(DOUBLE, 1);
export const declaredDuration = scalar(DURATION, 3);
export const declaredDyn = scalar(DYN, 1);
export const declaredInt = scalar(INT, 1);
export const declaredString = scalar(STRING, 2);
export const declaredTimestamp = scalar(TIMESTAMP, 12);
export const declaredUint = scalar(UINT, 1);

export function declaredList(element: DeclaredType, maxElements: number): DeclaredType {
  return { type: listOf(element.type), element, maxElements, minSerializedSize: 2 };
}

/** A map with strings as keys. */
export function declaredMap(element: DeclaredType, maxElements: number): DeclaredType {
  return { type: mapOf(STRING, element.type), element, maxElements, minSerializedSize: 2 };
}

export function declaredObject(
  name: string,
  fields: ReadonlyMap<string, DeclaredType>,
  minSerializedSize = 2,
): DeclaredType {
  return { type: structOf(name), fields, maxElements: 0, minSerializedSize };
}
