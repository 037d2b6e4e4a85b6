import { BOOL, type CelType, DOUBLE, DYN, INT, listOf, mapOf, STRING, structOf, TIMESTAMP } from './types.ts';

/**
 * A type that a schema declares: the type for the checker, the fields of objects, and the size limits for cost estimates.
 */
export interface DeclaredType {
  readonly type: CelType;
  /** Objects only: fields by the names that expressions use (see escapeFieldName). */
  readonly fields?: ReadonlyMap<string, DeclaredType>;
  /** The fields are created on first use. Every object type in it must be named by its path: `root.field`, `root.@idx`, `root.@elem`. */
  readonly isLazy?: true;
  /** Lists and maps only. */
  readonly element?: DeclaredType;
  /** Maximum size: elements, or bytes of a string. */
  readonly maxElements: number;
  /** Size in bytes of the smallest such value in JSON. */
  readonly minSerializedSize: number;
}

const scalar = (type: CelType, minSerializedSize: number): DeclaredType => ({
  type,
  maxElements: 0,
  minSerializedSize,
});

/** Types of values that no schema describes. */
export const declaredBool = scalar(BOOL, 4);
export const declaredDouble = scalar(DOUBLE, 1);
export const declaredDyn = scalar(DYN, 1);
export const declaredInt = scalar(INT, 1);
export const declaredString = scalar(STRING, 2);
export const declaredTimestamp = scalar(TIMESTAMP, 12);

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

/** An object whose fields are created on first use. Object types in it must be named by their path. */
export function declaredLazily(
  name: string,
  makeFields: () => ReadonlyMap<string, DeclaredType>,
  minSerializedSize: number,
): DeclaredType {
  let made: ReadonlyMap<string, DeclaredType> | undefined;
  return {
    type: structOf(name),
    get fields() {
      made ??= makeFields();
      return made;
    },
    isLazy: true,
    maxElements: 0,
    minSerializedSize,
  };
}
