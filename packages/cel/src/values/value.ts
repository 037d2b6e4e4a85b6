import { type CelType } from '../types.ts';

/**
 * A value of an expression. int is bigint, double is number. Lists, maps and objects are interfaces, so that API objects are
 * read without copying.
 */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | CelUint
  | CelDuration
  | CelTimestamp
  | CelList
  | CelMap
  | CelTypeValue
  | CelOptional
  | CelOpaque;

/** A value or an error. Errors are values, since `&&` and `||` may ignore them. */
export type CelResult = CelValue | CelError;

/** The error of an expression, with cel-go's message: `no such key: a`, `division by zero`. */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** An unsigned 64-bit integer. */
export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A duration in nanoseconds. */
export class CelDuration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A timestamp in nanoseconds since 1970. */
export class CelTimestamp {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A type used as a value: `type(1)`. */
export class CelTypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value that may be absent. */
export class CelOptional {
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

/** Elements in order. */
export abstract class CelList {
  abstract readonly size: number;
  /** The element; undefined when the index is out of bounds. */
  abstract at(index: number): CelValue | undefined;

  /** The result of `+`, for lists with list-type semantics of their own. */
  plus?(other: CelList): CelResult;

  /** Whether the other list is equal: element by element, unless the list has semantics of its own. */
  equals(other: CelList, equal: (left: CelValue, right: CelValue) => boolean): boolean {
    if (this.size !== other.size) return false;
    for (let index = 0; index < this.size; index++) {
      const [left, right] = [this.at(index), other.at(index)];
      if (left === undefined || right === undefined || !equal(left, right)) return false;
    }
    return true;
  }

  *[Symbol.iterator](): IterableIterator<CelValue> {
    for (let index = 0; index < this.size; index++) {
      const element = this.at(index);
      if (element !== undefined) yield element;
    }
  }
}

/** Values by key: a map, or an object whose keys are the fields that are set. */
export abstract class CelMap {
  /** `map`, or an object's type. */
  abstract readonly typeName: string;
  abstract readonly size: number;
  /** The value of a key: undefined when absent, an error when it does not have its declared type. */
  abstract get(key: CelValue): CelResult | undefined;
  abstract keys(): Iterable<CelValue>;
}

/** A value that only functions can read: a quantity, a URL, an authorizer. */
export abstract class CelOpaque {
  abstract readonly type: CelType;
  abstract equals(other: CelOpaque): boolean;
  /** The size for costs, if the value has one. */
  get size(): number | undefined {
    return undefined;
  }

  /** For formats: the length of the format's pattern. */
  readonly patternSize?: number;
}

export function isError(result: unknown): result is CelError {
  return result instanceof CelError;
}
