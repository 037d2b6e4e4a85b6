import { CelList, CelMap, type CelValue } from './value.ts';

/** A JSON value as a CelValue, without copying. Whole numbers of 64 bits are int, others double. */
export function valueOfJson(json: unknown): CelValue {
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    case 'number':
      return Number.isInteger(json) && Math.abs(json) < 2 ** 63 ? BigInt(json) : json;
    case 'object':
      if (json === null) return null;
      return Array.isArray(json) ? new JsonList(json) : new JsonMap(json as Readonly<Record<string, unknown>>);
    default:
      return null;
  }
}

/** Whether a value is a list or a map. The CEL value of each is cached, because it remembers its size and keys. */
const isCollection = (json: unknown) => typeof json === 'object' && json !== null;

class JsonList extends CelList {
  readonly #items: readonly unknown[];
  readonly #made = new Map<number, CelValue>();

  constructor(items: readonly unknown[]) {
    super();
    this.#items = items;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): CelValue | undefined {
    if (index >= this.#items.length) return undefined;
    const item = this.#items[index];
    return isCollection(item) ? onceMade(this.#made, index, item) : valueOfJson(item);
  }
}

class JsonMap extends CelMap {
  readonly typeName = 'map';
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #made = new Map<string, CelValue>();
  #keys: readonly string[] | undefined;

  constructor(fields: Readonly<Record<string, unknown>>) {
    super();
    this.#fields = fields;
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#fields, key)) return undefined;
    const value = this.#fields[key];
    if (isCollection(value)) return onceMade(this.#made, key, value);
    return value === undefined ? undefined : valueOfJson(value);
  }

  keys(): readonly string[] {
    return (this.#keys ??= Object.keys(this.#fields));
  }
}

function onceMade<Key>(made: Map<Key, CelValue>, key: Key, json: unknown): CelValue {
  const known = made.get(key);
  if (known !== undefined) return known;
  const value = valueOfJson(json);
  made.set(key, value);
  return value;
}
