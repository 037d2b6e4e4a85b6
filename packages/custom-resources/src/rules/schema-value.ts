import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  type CelResult,
  type CelValue,
  isError,
  parseDurationText,
  parseTimestampText,
} from '@gantry/cel';
import { isJsonObject, itemsOf, type JsonSchema, propertyOf, valuesOf } from '@gantry/apimachinery';
import { escapeName, withTypeAndMetadata } from './declared-schema.ts';

/** A value as rules see it by its schema, without copying. */
export function valueBySchema(value: unknown, schema: JsonSchema): CelResult {
  if (value === null || value === undefined) {
    return schema.nullable === true ? null : new CelError('invalid data, got null for schema with nullable=false');
  }
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (typeof value === 'string') return value;
    return (
      wholeNumber(value) ?? new CelError('invalid data, expected XIntOrString value to be either a string or integer')
    );
  }
  switch (schema.type) {
    case 'object':
      if (!isJsonObject(value)) return wrong('a map', 'object');
      return new SchemaMap(
        value,
        schema['x-kubernetes-embedded-resource'] === true ? withTypeAndMetadata(schema) : schema,
      );
    case 'array':
      return Array.isArray(value) ? listBySchema(value, schema) : wrong('an array', 'array');
    case 'string':
      return typeof value === 'string' ? textBySchema(value, schema) : mistyped('string', value);
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : mistyped('float', value);
    case 'integer':
      return wholeNumber(value) ?? mistyped('int', value);
    case 'boolean':
      return typeof value === 'boolean' ? value : mistyped('boolean', value);
    default:
      return new CelError(
        `invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${schema.type ?? ''}`,
      );
  }
}

const wholeNumber = (value: unknown) =>
  typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value as bigint | number) : undefined;
const wrong = (what: string, type: string) =>
  new CelError(`invalid data, expected ${what} for the provided schema with type=${type}`);
const mistyped = (expected: string, value: unknown) =>
  new CelError(`invalid data, expected ${expected}, got ${typeof value}`);

function textBySchema(text: string, { format = '' }: JsonSchema): CelResult {
  switch (format) {
    case 'duration':
      return parseDurationText(text) ?? new CelError(`Invalid duration ${text}: unable to parse ${text} as duration`);
    case 'date':
      return parseTimestampText(`${text}T00:00:00Z`) ?? new CelError(`Invalid date formatted string ${text}`);
    case 'date-time':
      return parseTimestampText(text) ?? new CelError(`Invalid date-time formatted string ${text}`);
    case 'byte':
      return Buffer.from(text, 'base64');
    default:
      return text;
  }
}

function listBySchema(items: readonly unknown[], schema: JsonSchema): CelResult {
  const itemSchema = itemsOf(schema);
  if (itemSchema === undefined) return new CelError('invalid array type, expected Items with a non-empty Schema');
  switch (schema['x-kubernetes-list-type']) {
    case 'map':
      return new KeyedList(
        items,
        itemSchema,
        (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => escapeName(key) ?? key),
      );
    case 'set':
      return new SetList(items, itemSchema);
    default:
      return new SchemaList(items, itemSchema);
  }
}

/** An object or a map. Rules do not see fields without a schema. */
class SchemaMap extends CelMap {
  readonly typeName: string;
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #schema: JsonSchema;
  readonly #values: JsonSchema | undefined;
  /** Cached lists and maps in this one; they remember their sizes and keys. */
  readonly #made = new Map<string, CelResult>();
  #keys: readonly string[] | undefined;

  constructor(fields: Readonly<Record<string, unknown>>, schema: JsonSchema) {
    super();
    this.#fields = fields;
    this.#schema = schema;
    this.#values = valuesOf(schema);
    this.typeName = this.#values === undefined ? 'object' : 'map';
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: CelValue): CelResult | undefined {
    if (typeof key !== 'string') return undefined;
    if (this.#values !== undefined) {
      return Object.hasOwn(this.#fields, key) ? this.#valueOf(key, this.#values) : undefined;
    }
    const name = this.#nameOf(key);
    const schema = name === undefined ? undefined : propertyOf(this.#schema, name);
    return name === undefined || schema === undefined ? undefined : this.#valueOf(name, schema);
  }

  #valueOf(name: string, schema: JsonSchema): CelResult {
    return onceMade(this.#made, name, this.#fields[name], schema);
  }

  keys(): readonly string[] {
    return (this.#keys ??= this.#findKeys());
  }

  #findKeys(): readonly string[] {
    const names = Object.keys(this.#fields);
    if (this.#values !== undefined) return names;
    return names
      .filter((name) => propertyOf(this.#schema, name) !== undefined)
      .map(escapeName)
      .filter((name) => name !== undefined);
  }

  #nameOf(escaped: string): string | undefined {
    if (escapeName(escaped) === escaped && Object.hasOwn(this.#fields, escaped)) return escaped;
    return namesOf(this.#schema)
      .get(escaped)
      ?.find((name) => Object.hasOwn(this.#fields, name));
  }
}

function onceMade<Key>(made: Map<Key, CelResult>, key: Key, value: unknown, schema: JsonSchema): CelResult {
  if (typeof value !== 'object') return valueBySchema(value, schema);
  const known = made.get(key);
  if (known !== undefined) return known;
  const result = valueBySchema(value, schema);
  made.set(key, result);
  return result;
}

const names = new WeakMap<JsonSchema, ReadonlyMap<string, readonly string[]>>();

/** The properties of a schema by their names in rules. */
function namesOf(schema: JsonSchema): ReadonlyMap<string, readonly string[]> {
  const known = names.get(schema);
  if (known !== undefined) return known;
  const made = Map.groupBy(Object.keys(schema.properties ?? {}), (name) => escapeName(name) ?? '');
  names.set(schema, made);
  return made;
}

class SchemaList extends CelList {
  protected readonly items: readonly unknown[];
  readonly #schema: JsonSchema;
  readonly #made = new Map<number, CelResult>();

  constructor(items: readonly unknown[], schema: JsonSchema) {
    super();
    this.items = items;
    this.#schema = schema;
  }

  get size(): number {
    return this.items.length;
  }

  at(index: number): CelValue | undefined {
    if (index < 0 || index >= this.items.length) return undefined;
    const value = onceMade(this.#made, index, this.items[index], this.#schema);
    return isError(value) ? null : value;
  }
}

type Equal = (left: CelValue, right: CelValue) => boolean;

/** A list of type set: equal in any order; adding keeps each element once. */
class SetList extends SchemaList {
  override equals(other: CelList, equal: Equal): boolean {
    return equalSets(this, other, equal);
  }

  override plus(other: CelList): CelResult {
    return new MergedSet(this, other);
  }
}

/** Strings and integers; a set may have very many of them. */
const isSimple = (element: CelValue) => typeof element === 'string' || typeof element === 'bigint';

function equalSets(left: CelList, right: CelList, equal: Equal): boolean {
  if (left.size !== right.size) return false;
  const others = [...right];
  const simple = new Set(others.filter(isSimple));
  const rest = others.filter((element) => !isSimple(element));
  // Numbers of different types may be equal.
  return [...left].every((element) =>
    isSimple(element)
      ? simple.has(element) || rest.some((held) => equal(element, held))
      : others.some((held) => equal(element, held)),
  );
}

/** A set plus the new elements of another list. */
class MergedSet extends ArrayList {
  constructor(set: CelList, added: CelList) {
    const texts = new Set([...set].map(String));
    super([...set, ...[...added].filter((element) => !texts.has(String(element)))]);
  }

  override equals(other: CelList, equal: Equal): boolean {
    return equalSets(this, other, equal);
  }

  override plus(other: CelList): CelResult {
    return new MergedSet(this, other);
  }
}

/** A list of type map, with items identified by keys: equal in any order; adding replaces an item with the same keys. */
class KeyedList extends SchemaList {
  readonly #keys: readonly string[];

  constructor(items: readonly unknown[], schema: JsonSchema, keys: readonly string[]) {
    super(items, schema);
    this.#keys = keys;
  }

  override equals(other: CelList, equal: Equal): boolean {
    return equalByKeys(this, other, this.#keys, equal);
  }

  override plus(other: CelList): CelResult {
    return new MergedKeyed(this, other, this.#keys);
  }
}

class MergedKeyed extends ArrayList {
  readonly #keys: readonly string[];

  constructor(list: CelList, added: CelList, keys: readonly string[]) {
    const merged = byKeys(list, keys);
    for (const [key, item] of byKeys(added, keys)) merged.set(key, item);
    super([...merged.values()]);
    this.#keys = keys;
  }

  override equals(other: CelList, equal: Equal): boolean {
    return equalByKeys(this, other, this.#keys, equal);
  }

  override plus(other: CelList): CelResult {
    return new MergedKeyed(this, other, this.#keys);
  }
}

function equalByKeys(left: CelList, right: CelList, keys: readonly string[], equal: Equal): boolean {
  const [ours, theirs] = [byKeys(left, keys), byKeys(right, keys)];
  return (
    left.size === right.size &&
    [...ours].every(([key, item]) => {
      const match = theirs.get(key);
      return match !== undefined && equal(item, match);
    })
  );
}

function byKeys(list: CelList, keys: readonly string[]): Map<string, CelValue> {
  const keyOf = (item: CelValue) =>
    JSON.stringify(
      keys.map((key) => {
        const value = item instanceof CelMap ? item.get(key) : undefined;
        return [typeof value, String(value)];
      }),
    );
  return new Map([...list].map((item) => [keyOf(item), item]));
}
