import {
  type JsonSchema,
  META_FIELDS,
  asResourceRoot,
  isJsonObject,
  itemsOf,
  propertyOf,
  valuesOf,
} from '@gantry/apimachinery';

/** Removes fields from a resource that its schema does not specify. Returns their paths, sorted. Keeps metadata. Changes `object`. */
export function pruneResource(object: Record<string, unknown>, schema: JsonSchema): readonly string[] {
  return pruneValue(object, asResourceRoot(schema));
}

/** The same for any value in a resource. */
export function pruneValue(value: unknown, schema: JsonSchema): readonly string[] {
  const pruner = new Pruner();
  pruner.prune(value, schema);
  return pruner.unknown.sort();
}

class Pruner {
  readonly unknown: string[] = [];
  readonly #path: (string | number)[] = [];

  prune(value: unknown, schema: JsonSchema | undefined): void {
    if (schema?.['x-kubernetes-preserve-unknown-fields'] === true) this.#keep(value, schema);
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#within(index, () => this.prune(item, itemsOf(schema)));
    } else if (isJsonObject(value)) this.#object(value, schema);
  }

  #object(value: Record<string, unknown>, schema: JsonSchema | undefined): void {
    for (const key of Object.keys(value)) {
      if (schema?.['x-kubernetes-embedded-resource'] === true && META_FIELDS.has(key)) continue;
      const property = propertyOf(schema, key);
      if (property !== undefined) this.#within(key, () => this.prune(value[key], property));
      else if (hasValues(schema)) this.#within(key, () => this.prune(value[key], valuesOf(schema)));
      else {
        if (!META_FIELDS.has(key) || this.#path.length > 0) this.unknown.push(formatPath([...this.#path, key]));
        delete value[key];
      }
    }
  }

  /** Keeps unknown fields here, and prunes the fields that the schema specifies. */
  #keep(value: unknown, schema: JsonSchema): void {
    if (Array.isArray(value)) {
      const items = itemsOf(schema);
      if (items === undefined) return;
      for (const [index, item] of value.entries()) this.#within(index, () => this.#keep(item, items));
      return;
    }
    if (!isJsonObject(value)) return;
    for (const key of Object.keys(value)) {
      if (schema['x-kubernetes-embedded-resource'] === true && META_FIELDS.has(key)) continue;
      const property = propertyOf(schema, key);
      if (property !== undefined) this.#within(key, () => this.prune(value[key], property));
      else if (hasValues(schema)) this.#within(key, () => this.prune(value[key], valuesOf(schema)));
    }
  }

  #within(key: string | number, work: () => void): void {
    this.#path.push(key);
    work();
    this.#path.pop();
  }
}

/** `additionalProperties: true` keeps the keys but nothing below them. */
function hasValues(schema: JsonSchema | undefined): boolean {
  return schema?.additionalProperties !== undefined;
}

function formatPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}
