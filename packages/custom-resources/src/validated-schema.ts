import { isSupportedFormat } from './formats.ts';
import { type JsonSchema, isJsonObject } from '@gantry/apimachinery';

type Mutable = { -readonly [Word in keyof JsonSchema]: JsonSchema[Word] };

/** A schema in the form for validating objects: without formats that do not apply to its type. */
export function schemaForObjects(schema: JsonSchema): JsonSchema {
  return rewrite(schema, (one) => {
    if (!isSupportedFormat(one.format ?? '', one.type)) delete one.format;
  });
}

/**
 * Converts schemas to the form for validating defaults: there, Kubernetes does not check int-or-string. Defaults in parts of one schema
 * share the result.
 */
export function schemasForDefaults(): (schema: JsonSchema) => JsonSchema {
  const made = new Map<JsonSchema, JsonSchema>();
  return (schema) =>
    rewrite(
      schema,
      (one) => {
        delete one['x-kubernetes-int-or-string'];
      },
      made,
    );
}

function rewrite(
  schema: JsonSchema,
  change: (schema: Mutable) => void,
  made = new Map<JsonSchema, JsonSchema>(),
): JsonSchema {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const out: Mutable = { ...schema };
  made.set(schema, out);
  const inner = (one: JsonSchema) => rewrite(one, change, made);
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
    const list = schema[word];
    if (list !== undefined) out[word] = list.map(inner);
  }
  if (schema.not !== undefined) out.not = inner(schema.not);
  if (isJsonObject(schema.items)) out.items = inner(schema.items);
  if (isJsonObject(schema.additionalProperties)) out.additionalProperties = inner(schema.additionalProperties);
  if (schema.properties !== undefined) {
    const entries = Object.entries(schema.properties).map(([name, one]) => [name, inner(one)] as const);
    out.properties = Object.fromEntries(entries);
  }
  change(out);
  return out;
}
