import type { CustomCodec, JsonSchema } from '@gantry/apimachinery';
import { coerceEmbedded, type MalformedMetadata, readMetadata } from './embedded.ts';
import { dropNulls, fillDefaults } from './fill-defaults.ts';
import { pruneResource } from './prune.ts';

/** Reads custom resources of one version: defaults set, what the schema does not name taken out, metadata normalised. */
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
