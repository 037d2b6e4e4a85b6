import { numeric } from './compare.ts';
import { CelError, CelList, CelMap, type CelValue, isError } from './value.ts';

/** A list created by an expression. */
export class ArrayList extends CelList {
  readonly #elements: readonly CelValue[];

  constructor(elements: readonly CelValue[]) {
    super();
    this.#elements = elements;
  }

  get size(): number {
    return this.#elements.length;
  }

  at(index: number): CelValue | undefined {
    return this.#elements[index];
  }

  override [Symbol.iterator](): IterableIterator<CelValue> {
    return this.#elements[Symbol.iterator]();
  }
}

/** Two lists joined without copying. */
class ConcatList extends CelList {
  readonly #first: CelList;
  readonly #second: CelList;
  readonly size: number;

  constructor(first: CelList, second: CelList) {
    super();
    this.#first = first;
    this.#second = second;
    this.size = first.size + second.size;
  }

  at(index: number): CelValue | undefined {
    return index < this.#first.size ? this.#first.at(index) : this.#second.at(index - this.#first.size);
  }

  /** Iterates without a generator per joined list. */
  override *[Symbol.iterator](): IterableIterator<CelValue> {
    const left: CelList[] = [this];
    for (let list = left.pop(); list !== undefined; list = left.pop()) {
      if (list instanceof ConcatList) left.push(list.#second, list.#first);
      else for (const element of list) yield element;
    }
  }
}

/** Lists of at most this size are appended by copying. */
const FEW = 64;

/**
 * A list and the elements appended to it. Lists that grew from one another share one array, of which each uses its own prefix. So a macro
 * that appends elements one by one takes linear time.
 */
class GrownList extends CelList {
  readonly #first: CelList;
  readonly #appended: CelValue[];
  readonly #count: number;
  readonly size: number;

  constructor(first: CelList, appended: CelValue[]) {
    super();
    this.#first = first;
    this.#appended = appended;
    this.#count = appended.length;
    this.size = first.size + this.#count;
  }

  at(index: number): CelValue | undefined {
    if (index >= this.size) return undefined;
    return index < this.#first.size ? this.#first.at(index) : this.#appended[index - this.#first.size];
  }

  append(more: CelList): GrownList {
    const isLongest = this.#count === this.#appended.length;
    // Many lists may branch off a long one.
    if (!isLongest && this.#count > FEW) return new GrownList(this, [...more]);
    const appended = isLongest ? this.#appended : this.#appended.slice(0, this.#count);
    for (const element of more) appended.push(element);
    return new GrownList(this.#first, appended);
  }
}

/** The elements of both lists, without copying long ones. */
export function joinLists(left: CelList, right: CelList): CelList {
  if (right.size > FEW) return new ConcatList(left, right);
  return left instanceof GrownList ? left.append(right) : new GrownList(left, [...right]);
}

/** The list as an array. */
export function elementsOf(list: CelList): readonly CelValue[] {
  return [...list];
}

/** The identity of a map key: 1, 1u and 1.0 are one key. Undefined for a value that cannot be a key. */
function keyOf(key: CelValue): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  const number = numeric(key);
  if (number === undefined) return key === null ? 'null' : undefined;
  if (typeof number === 'bigint') return `n${number}`;
  return Number.isInteger(number) ? `n${BigInt(number)}` : `d${number}`;
}

interface Entry {
  readonly key: CelValue;
  readonly value: CelValue;
  /** The number of entries before this one. */
  readonly index: number;
}

/**
 * A map created by an expression. Maps that grew from one another share their entries, and each uses its own prefix. So a macro that
 * inserts entries one by one takes linear time.
 */
export class EntryMap extends CelMap {
  readonly typeName: string;
  readonly size: number;
  readonly #entries: Map<string, Entry>;
  /** Whether the entries were created by an insertion, and not by an expression. */
  readonly #isGrown: boolean;

  private constructor(entries: Map<string, Entry>, typeName: string, isGrown = false) {
    super();
    this.#entries = entries;
    this.#isGrown = isGrown;
    this.size = entries.size;
    this.typeName = typeName;
  }

  /** Creates a map. An invalid or repeated key is an error. */
  static of(entries: Iterable<readonly [CelValue, CelValue]>): EntryMap | CelError {
    const held = new Map<string, Entry>();
    for (const [key, value] of entries) {
      const id = keyOf(key);
      if (id === undefined) return new CelError('unsupported key type');
      if (held.has(id)) return new CelError('Failed with repeated key');
      held.set(id, { key, value, index: held.size });
    }
    return new EntryMap(held, 'map');
  }

  /** Creates an object with these fields. */
  static object(typeName: string, fields: ReadonlyMap<string, CelValue>): EntryMap {
    const held = new Map<string, Entry>();
    for (const [key, value] of fields) held.set(`s${key}`, { key, value, index: held.size });
    return new EntryMap(held, typeName);
  }

  get(key: CelValue): CelValue | undefined {
    const id = keyOf(key);
    return id === undefined ? undefined : this.#find(id)?.value;
  }

  *keys(): Iterable<CelValue> {
    for (const { key, index } of this.#entries.values()) {
      if (index >= this.size) return;
      yield key;
    }
  }

  /** The map with one more key; an error when the key exists. */
  with(key: CelValue, value: CelValue): EntryMap | CelError {
    const id = keyOf(key);
    if (id === undefined) return new CelError('unsupported key type');
    if (this.#find(id) !== undefined) return new CelError(`insert failed: key ${formatKey(key)} already exists`);
    const isLongest = this.#isGrown && this.size === this.#entries.size;
    const entries = isLongest ? this.#entries : new Map([...this.#entries].slice(0, this.size));
    entries.set(id, { key, value, index: this.size });
    return new EntryMap(entries, this.typeName, true);
  }

  #find(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || entry.index >= this.size ? undefined : entry;
  }
}

/** Entries of any map. */
export function entriesOf(map: CelMap): readonly (readonly [CelValue, CelValue])[] | CelError {
  const entries: (readonly [CelValue, CelValue])[] = [];
  for (const key of map.keys()) {
    const value = map.get(key);
    if (isError(value)) return value;
    if (value !== undefined) entries.push([key, value]);
  }
  return entries;
}

/** A key as messages print it. */
export function formatKey(key: CelValue): string {
  return String(numeric(key) ?? key);
}
