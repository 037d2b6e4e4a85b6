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
export class ConcatList extends CelList {
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

  override *[Symbol.iterator](): IterableIterator<CelValue> {
    yield* this.#first;
    yield* this.#second;
  }
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
}

/** A map created by an expression. */
export class EntryMap extends CelMap {
  readonly typeName: string;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(entries: ReadonlyMap<string, Entry>, typeName: string) {
    super();
    this.#entries = entries;
    this.typeName = typeName;
  }

  /** Creates a map. An invalid or repeated key is an error. */
  static of(entries: Iterable<readonly [CelValue, CelValue]>): EntryMap | CelError {
    const held = new Map<string, Entry>();
    for (const [key, value] of entries) {
      const id = keyOf(key);
      if (id === undefined) return new CelError('unsupported key type');
      if (held.has(id)) return new CelError('Failed with repeated key');
      held.set(id, { key, value });
    }
    return new EntryMap(held, 'map');
  }

  /** Creates an object with these fields. */
  static object(typeName: string, fields: ReadonlyMap<string, CelValue>): EntryMap {
    return new EntryMap(new Map([...fields].map(([key, value]) => [`s${key}`, { key, value }])), typeName);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: CelValue): CelValue | undefined {
    const id = keyOf(key);
    return id === undefined ? undefined : this.#entries.get(id)?.value;
  }

  *keys(): Iterable<CelValue> {
    for (const { key } of this.#entries.values()) yield key;
  }

  /** The map with one more key; an error when the key exists. */
  with(key: CelValue, value: CelValue): EntryMap | CelError {
    const id = keyOf(key);
    if (id === undefined) return new CelError('unsupported key type');
    if (this.#entries.has(id)) return new CelError(`insert failed: key ${formatKey(key)} already exists`);
    return new EntryMap(new Map(this.#entries).set(id, { key, value }), this.typeName);
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
