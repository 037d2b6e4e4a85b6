import { type CustomCodec, isJsonObject, itemsOf, type JsonSchema, propertyOf, valuesOf } from '@gantry/apimachinery';
import { coerceEmbedded, type MalformedMetadata, readMetadata } from './embedded.ts';
import { pruneResource } from './prune.ts';
import { cloneJson, setMember } from '@gantry/objects';

/** Creates the codec of custom resources of one version: it sets defaults, removes unknown fields and normalises metadata. */
export function createCodec(schema: JsonSchema, preservesAll: boolean): CustomCodec {
  return {
    read: (object) => readResource(object, schema, { preservesAll, malformed: 'refuse', nulls: 'drop' }),
    readApplied: (object) => readResource(object, schema, { preservesAll, malformed: 'refuse', nulls: 'keep' }).value,
    readStored: (object) => readResource(object, schema, { preservesAll, malformed: 'drop', nulls: 'drop' }).value,
    convert: (object) => {
      const { metadata, ...rest } = object;
      if (!preservesAll) pruneResource(rest, schema);
      return { ...rest, metadata };
    },
  };
}

function readResource(
  object: Record<string, unknown>,
  schema: JsonSchema,
  how: { readonly preservesAll: boolean; readonly malformed: MalformedMetadata; readonly nulls: 'drop' | 'keep' },
): { value: Record<string, unknown>; unknown: readonly string[] } {
  const { apiVersion, kind, metadata: sent, ...rest } = object;
  const { preservesAll, malformed } = how;
  fillDefaults(rest, schema);
  const { metadata, unknown } = readMetadata(sent, malformed);
  const pruned = preservesAll ? [] : pruneResource(rest, schema);
  if (!preservesAll && how.nulls === 'drop') dropNulls(rest, schema);
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  const embedded = coerceEmbedded(rest, { ...schema, properties }, malformed);
  return { value: { apiVersion, kind, metadata, ...rest }, unknown: [...unknown, ...pruned, ...embedded] };
}

/** Sets the schema's defaults where a value is absent, or is a null that is not allowed. Changes `value`. */
export function fillDefaults(value: unknown, schema: JsonSchema | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    for (const [index, item] of value.entries()) {
      if (isForbiddenNull(item, items)) value[index] = cloneJson(items?.default ?? null);
      fillDefaults(value[index], items);
    }
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined || property.default === null) continue;
    const missing = !Object.hasOwn(value, name) || isForbiddenNull(value[name], property);
    if (missing) setMember(value, name, cloneJson(property.default));
  }
  for (const name of Object.keys(value)) {
    const property = propertyOf(schema, name);
    if (property !== undefined) fillDefaults(value[name], property);
    else {
      const values = valuesOf(schema);
      if (isForbiddenNull(value[name], values)) setMember(value, name, cloneJson(values?.default ?? null));
      fillDefaults(value[name], values);
    }
  }
}

function isForbiddenNull(value: unknown, schema: JsonSchema | undefined): boolean {
  return value === null && schema !== undefined && schema.nullable !== true;
}

/** Removes nulls that are not allowed and have no default. Changes `value`. */
function dropNulls(value: unknown, schema: JsonSchema | undefined): void {
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, itemsOf(schema));
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const inner = propertyOf(schema, name) ?? valuesOf(schema);
      const hasDefault = inner?.default !== undefined && inner.default !== null;
      if (isForbiddenNull(value[name], inner) && !hasDefault) delete value[name];
      else dropNulls(value[name], inner);
    }
  }
}
