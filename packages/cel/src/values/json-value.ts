import { CelList, CelMap, type CelValue } from './value.ts';

/** A JSON value as a CelValue, without copying. Whole numbers are int, others double. */
export function valueOfJson(json: unknown): CelValue {
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    case 'number':
      return Number.isInteger(json) ? BigInt(json) : json;
    case 'object':
      if (json === null) return null;
      return Array.isArray(json) ? new JsonList(json) : new JsonMap(json as Readonly<Record<string, unknown>>);
    default:
      return null;
  }
}

class JsonList extends CelList {
  readonly #items: readonly unknown[];

  constructor(items: readonly unknown[]) {
    super();
    this.#items = items;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): CelValue | undefined {
    return index < this.#items.length ? valueOfJson(this.#items[index]) : undefined;
  }
}

class JsonMap extends CelMap {
  readonly typeName = 'map';
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: Readonly<Record<string, unknown>>) {
    super();
    this.#fields = fields;
  }

  get size(): number {
    return Object.keys(this.#fields).length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#fields, key)) return undefined;
    const value = this.#fields[key];
    return value === undefined ? undefined : valueOfJson(value);
  }

  keys(): Iterable<CelValue> {
    return Object.keys(this.#fields);
  }
}
