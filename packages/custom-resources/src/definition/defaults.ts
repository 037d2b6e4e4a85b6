import { append, type Turn, type Pieces } from '@gantry/base';
import type { Allowance } from '@gantry/cel';
import { coerceEmbedded, validateEmbedded } from '../embedded.ts';
import { DecodeError, type JsonSchema, META_FIELDS, asResourceRoot, itemsOf } from '@gantry/apimachinery';
import { pruneValue } from '../prune.ts';
import { RulesOfDefaults } from '../rules/schema-rules.ts';
import { schemasForDefaults } from '../validated-schema.ts';
import { validateValue } from '../validate-value.ts';
import { type FieldError, cloneJson, equalJson, formatFieldError, invalid } from '@gantry/objects';

/** The position of a default in a resource. */
interface Place {
  /** The surrounding resource: the whole one, or an embedded one. */
  readonly resource: JsonSchema;
  readonly insideMetadata: boolean;
  /** Builds a resource that contains only a value at this position. */
  readonly surround: (value: unknown) => unknown;
  /** Converts parts of the schema for validation of defaults, each once. */
  readonly schemaForDefaults: (schema: JsonSchema) => JsonSchema;
  readonly rules: RulesOfDefaults;
}

/**
 * Errors of defaults that do not match their schema. `schema` is that of a resource. Rules count against the allowance, if there is one.
 */
export function* validateDefaults(
  schema: JsonSchema,
  path: string,
  { turn, allowance }: { readonly turn: Turn; readonly allowance: Allowance | undefined },
): Pieces<FieldError[]> {
  const root = asResourceRoot(schema);
  return yield* validateWithin(root, path, {
    resource: root,
    insideMetadata: false,
    surround: (value) => value,
    schemaForDefaults: schemasForDefaults(),
    rules: new RulesOfDefaults(turn, allowance),
  });
}

function* validateWithin(schema: JsonSchema, path: string, around: Place): Pieces<FieldError[]> {
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  const place: Place = isResource
    ? { ...around, resource: schema, insideMetadata: false, surround: (value) => withTypeMeta(value) }
    : around;
  const errors: FieldError[] = [];
  if (schema.default !== undefined && schema.default !== null) {
    append(errors, yield* validateDefault(schema, schema.default, `${path}.default`, place));
  }
  // Defaults are not allowed below additionalProperties.
  const items = itemsOf(schema);
  if (items !== undefined && !place.rules.isExhausted) {
    const surround = (value: unknown) => place.surround([value]);
    append(errors, yield* validateWithin(items, `${path}.items`, { ...place, surround }));
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (place.rules.isExhausted) break;
    const surround = (value: unknown) => place.surround({ [name]: value });
    const insideMetadata = place.insideMetadata || (isResource && META_FIELDS.has(name));
    const inner = { ...place, insideMetadata, surround };
    append(errors, yield* validateWithin(property, `${path}.properties[${name}]`, inner));
  }
  return errors;
}

function withTypeMeta(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  return { apiVersion: 'validation/v1', kind: 'Validation', ...value };
}

function* validateDefault(schema: JsonSchema, value: unknown, path: string, place: Place): Pieces<FieldError[]> {
  const errors: FieldError[] = [];
  if (place.insideMetadata) {
    const wrong = wrongMetadata(place.surround(cloneJson(value)), place.resource);
    if (wrong !== undefined) return [invalid(path, value, `must result in valid metadata: ${wrong}`)];
  } else {
    const pruned = cloneJson(value);
    pruneValue(pruned, schema);
    if (!equalJson(pruned, value)) errors.push(invalid(path, value, 'must not have unknown fields'));
    const embedded = validateEmbedded(value, schema, path);
    if (embedded.length > 0) return [...errors, ...embedded];
  }
  const wrong = validateValue(value, place.schemaForDefaults(schema), path);
  if (wrong.length > 0) return [...errors, ...wrong];
  const isResource = schema === place.resource;
  return [...errors, ...(yield* place.rules.validate(schema, { value, isResource, path }))];
}

function wrongMetadata(object: unknown, schema: JsonSchema): string | undefined {
  try {
    coerceEmbedded(object, schema, 'refuse');
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return error.message;
  }
  const texts = validateEmbedded(object, schema).map((error) => `${error.field}: ${formatFieldError(error)}`);
  return texts.length > 1 ? `[${texts.join(', ')}]` : texts[0];
}
