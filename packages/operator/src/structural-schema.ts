import { z } from 'zod';

/** A schema of a CustomResourceDefinition, as JSON. */
export type StructuralSchema = { [keyword: string]: unknown };

/** Thrown for a kind that cannot be defined; the message begins with the field. */
export class KindError extends Error {
  override readonly name = 'KindError';
}

/** Keywords of JSON schema that a structural schema has with the same meaning. */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'description',
  'title',
  'default',
  'enum',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'nullable',
  'required',
]);
/** Zod bounds integers by what a JavaScript number holds; the API server has 64 bits. */
const ZOD_BOUNDS: ReadonlySet<unknown> = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

/**
 * The structural schema of what users write, so a field with a default is optional. Throws KindError for what structural schemas cannot say:
 * unions other than that of an integer and a string, tuples, recursion, transformations.
 */
export function structuralSchema(field: string, schema: z.ZodType): StructuralSchema {
  let json: unknown;
  try {
    json = z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0', unrepresentable: 'throw', cycles: 'throw' });
  } catch (error) {
    throw new KindError(`${field}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return structural(field, json as StructuralSchema);
}

function structural(field: string, schema: StructuralSchema): StructuralSchema {
  const { anyOf, oneOf } = schema;
  const variants = anyOf ?? oneOf;
  if (variants !== undefined) return intOrString(field, variants as readonly StructuralSchema[], schema);
  const out: StructuralSchema = {};
  for (const [keyword, value] of Object.entries(schema)) convert(field, keyword, value, out);
  if (out['type'] === undefined && out['x-kubernetes-int-or-string'] === undefined) {
    if (out['enum'] === undefined) out['x-kubernetes-preserve-unknown-fields'] = true;
    else out['type'] = typeOfValues(field, out['enum'] as readonly unknown[]);
  }
  return out;
}

function convert(field: string, keyword: string, value: unknown, out: StructuralSchema): void {
  if (keyword.startsWith('x-kubernetes-')) out[keyword] = value;
  else if ((keyword === 'minimum' || keyword === 'maximum') && ZOD_BOUNDS.has(value)) out['format'] = 'int64';
  else if (KEPT.has(keyword)) out[keyword] = value;
  else if (keyword === 'const') out['enum'] = [value];
  else if (keyword === 'properties') {
    const fields = Object.entries(value as Record<string, StructuralSchema>);
    out[keyword] = Object.fromEntries(fields.map(([name, of]) => [name, structural(`${field}.${name}`, of)]));
  } else if (keyword === 'items' && !Array.isArray(value)) {
    out[keyword] = structural(`${field}[]`, value as StructuralSchema);
  } else if (keyword === 'additionalProperties') {
    // Unknown fields are pruned anyway. For those of a map, Zod says what they are.
    if (typeof value === 'object') out[keyword] = structural(`${field}{}`, value as StructuralSchema);
    else if (value === true) out['x-kubernetes-preserve-unknown-fields'] = true;
  } else if (keyword === 'uniqueItems' || keyword === 'propertyNames') {
    // Keys of maps are strings; what else they must be is a rule in CEL.
    if (keyword === 'uniqueItems')
      throw new KindError(`${field}: use x-kubernetes-list-type: set instead of unique items`);
  } else throw new KindError(`${field}: a structural schema has no \`${keyword}\``);
}

function intOrString(
  field: string,
  variants: readonly StructuralSchema[],
  { anyOf: _anyOf, oneOf: _oneOf, ...rest }: StructuralSchema,
): StructuralSchema {
  const [only, ...others] = variants;
  if (only !== undefined && others.length === 0) return structural(field, { ...rest, ...only });
  const literals = variants.map(
    ({ const: value, enum: values }) => (value === undefined ? values : [value]) as unknown[],
  );
  if (literals.every((values) => values !== undefined)) return structural(field, { ...rest, enum: literals.flat() });
  const types = variants.map(({ type }) => type).sort();
  if (types.join() !== 'integer,string') {
    throw new KindError(
      `${field}: a structural schema has no unions, except of literals and of an integer and a string`,
    );
  }
  return structural(field, { ...rest, 'x-kubernetes-int-or-string': true });
}

function typeOfValues(field: string, values: readonly unknown[]): string {
  const types = new Set(values.map((value) => typeof value));
  const [only] = types;
  if (types.size === 1 && (only === 'string' || only === 'number' || only === 'boolean')) return only;
  throw new KindError(`${field}: literals of one field have one type`);
}
