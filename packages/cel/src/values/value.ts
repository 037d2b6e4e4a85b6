import { type CelType } from '../types.ts';

/**
 * A value of an expression. int is bigint, double is number. Lists, maps and objects are asked element by element, so that
 * values of the API are read in place.
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

/** What evaluation yields: a value, or why there is none. Errors are values, since `&&` and `||` may outvote them. */
export type CelResult = CelValue | CelError;

/** Why an expression has no value; the text is cel-go's: `no such key: a`, `division by zero`. */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** An unsigned integer of 64 bits. */
export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A length of time in nanoseconds. */
export class CelDuration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A moment, in nanoseconds since 1970. */
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

  /** What `+` yields where it is more than putting one behind the other. */
  plus?(other: CelList): CelResult;

  /** Whether the other list counts as equal: element by element, unless the list's own meaning says otherwise. */
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

/** Values by key: a map, or an object whose keys are its fields that are set. */
export abstract class CelMap {
  /** `map`, or an object's type. */
  abstract readonly typeName: string;
  abstract readonly size: number;
  /** The value of a key; undefined when the key is absent. An error when the value cannot be read as its type. */
  abstract get(key: CelValue): CelResult | undefined;
  abstract keys(): Iterable<CelValue>;
}

/** A value that only functions look into: a quantity, a URL, an authorizer. */
export abstract class CelOpaque {
  abstract readonly type: CelType;
  abstract equals(other: CelOpaque): boolean;
  /** What costs are counted by, where the value has a size. */
  get size(): number | undefined {
    return undefined;
  }

  /** Of a format: characters of the pattern that it stands for. */
  readonly patternSize?: number;
}

export function isError(result: unknown): result is CelError {
  return result instanceof CelError;
}
