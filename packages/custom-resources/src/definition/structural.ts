import { append } from '@gantry/base';
import { type JsonSchema, itemsOf, valuesOf } from '@gantry/apimachinery';
import { patternError } from '../pattern.ts';
import { type FieldError, equalJson, forbidden, formatFieldError, invalid, required } from '@gantry/objects';

type Level = 'root' | 'item' | 'field';

const INT_OR_STRING: readonly JsonSchema[] = [{ type: 'integer' }, { type: 'string' }];

const EMPTY_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

const UNSUPPORTED: readonly (readonly [keyof JsonSchema, string])[] = [
  ['id', 'id'],
  ['$schema', 'schema'],
  ['$ref', '$ref'],
  ['patternProperties', 'patternProperties'],
  ['dependencies', 'dependencies'],
  ['additionalItems', 'additionalItems'],
  ['definitions', 'definitions'],
];

/** The first construct that structural schemas do not support; undefined if there is none. */
export function findUnsupported(schema: JsonSchema | undefined): string | undefined {
  return unsupportedFinder()(schema);
}

/** The same for several parts of one schema; each part is checked once. */
export function unsupportedFinder(): (schema: JsonSchema | undefined) => string | undefined {
  const known = new Map<JsonSchema, string | undefined>();
  const find = (schema: JsonSchema | undefined): string | undefined => {
    if (schema === undefined || known.has(schema)) return schema && known.get(schema);
    const found = firstUnsupported(schema, find);
    known.set(schema, found);
    return found;
  };
  return find;
}

function firstUnsupported(
  schema: JsonSchema,
  find: (inner: JsonSchema | undefined) => string | undefined,
): string | undefined {
  const word = UNSUPPORTED.find(([name]) =>
    name === 'additionalItems' ? schema[name] !== undefined : isSet(schema[name]),
  );
  if (word !== undefined) return `OpenAPIV3Schema '${word[1]}' is not supported`;
  const { not, allOf = [], anyOf = [], oneOf = [], items, properties = {} } = schema;
  for (const one of [not, ...allOf, ...anyOf, ...oneOf]) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  if (Array.isArray(items) && items.length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const one of [itemsOf(schema), ...Object.values(properties), valuesOf(schema)]) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Errors of a schema that is not structural, in Kubernetes' order. */
export function validateStructural(schema: JsonSchema, path: string): FieldError[] {
  const text = (error: FieldError) => `${error.field}: ${formatFieldError(error)}`;
  const errors = [...validateStructure(schema, 'root', path), ...validateCompleteness(schema, path)];
  return errors
    .map((error) => ({ error, text: text(error) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ error }) => error);
}

function validateStructure(schema: JsonSchema | undefined, level: Level, path: string): FieldError[] {
  if (schema === undefined) return [];
  const errors: FieldError[] = [];
  const { type = '', properties = {}, additionalProperties } = schema;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true;
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (type === 'array' && itemsOf(schema) === undefined) errors.push(required(`${path}.items`, 'must be specified'));
  append(errors, validateStructure(itemsOf(schema), 'item', `${path}.items`));
  for (const [name, property] of Object.entries(properties)) {
    append(errors, validateStructure(property, 'field', `${path}.properties[${name}]`));
  }
  const at = `${path}.additionalProperties`;
  if (additionalProperties !== undefined) {
    if (level === 'root') errors.push(forbidden(at, 'must not be used at the root'));
    append(errors, validateStructure(valuesOf(schema), 'field', at));
    if (isEmbedded) errors.push(forbidden(at, 'must not be used if x-kubernetes-embedded-resource is set'));
  }
  if (isIntOrString && preserves) {
    const detail = 'must be false if x-kubernetes-int-or-string is true';
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, detail));
  }
  if (isIntOrString && isEmbedded) {
    const detail = 'must be false if x-kubernetes-int-or-string is true';
    errors.push(invalid(`${path}.x-kubernetes-embedded-resource`, true, detail));
  }
  const skipAnyOf = equalJson(schema.anyOf, INT_OR_STRING);
  const skipFirst = equalJson(schema.allOf?.[0]?.anyOf, INT_OR_STRING);
  append(errors, validateConstraints(schema, path, { skipAnyOf, skipFirst }));
  if (isEmbedded && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail));
  } else if (type === '' && !isIntOrString && !preserves) errors.push(required(`${path}.type`, EMPTY_TYPE[level]));
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(invalid(`${path}.type`, type, 'must be object at the root'));
  }
  append(errors, validateMeta(schema, level, path));
  if (isEmbedded && !preserves && Object.keys(properties).length === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(required(`${path}.properties`, detail));
  }
  return errors;
}

/** Of a resource's metadata, only the name may be restricted; kind and apiVersion must be strings. */
function validateMeta(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  for (const [name, property] of Object.entries({ kind, apiVersion })) {
    if (!isResource || property === undefined || property.type === 'string') continue;
    errors.push(invalid(`${path}.properties[${name}].type`, property.type ?? '', 'must be string'));
  }
  if (metadata === undefined) return errors;
  const at = `${path}.properties[metadata]`;
  if (isResource && metadata.type !== 'object')
    errors.push(invalid(`${at}.type`, metadata.type ?? '', 'must be object'));
  if (level !== 'root') return errors;
  const { type: _type, default: _default, properties = {}, ...rest } = metadata;
  const onlyNames = Object.keys(properties).every((name) => name === 'name' || name === 'generateName');
  if (!onlyNames || Object.keys(rest).length > 0) {
    const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    errors.push(forbidden(at, detail));
  }
  return errors;
}

interface Exceptions {
  readonly skipAnyOf?: boolean;
  readonly skipFirst?: boolean;
}

function validateConstraints(schema: JsonSchema, path: string, { skipAnyOf, skipFirst }: Exceptions): FieldError[] {
  const errors: FieldError[] = [];
  if (skipAnyOf !== true) {
    for (const [i, one] of (schema.anyOf ?? []).entries()) append(errors, validateNested(one, `${path}.anyOf[${i}]`));
  }
  for (const [i, one] of (schema.allOf ?? []).entries()) {
    append(errors, validateNested(one, `${path}.allOf[${i}]`, { skipAnyOf: skipFirst === true && i === 0 }));
  }
  for (const [i, one] of (schema.oneOf ?? []).entries()) append(errors, validateNested(one, `${path}.oneOf[${i}]`));
  append(errors, validateNested(schema.not, `${path}.not`));
  const { pattern = '' } = schema;
  const wrong = pattern === '' ? undefined : patternError(pattern);
  if (wrong !== undefined) {
    errors.push(invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${wrong}`));
  }
  return errors;
}

function validateNested(schema: JsonSchema | undefined, path: string, exceptions: Exceptions = {}): FieldError[] {
  if (schema === undefined) return [];
  const errors = validateConstraints(schema, path, exceptions);
  append(errors, validateNested(itemsOf(schema), `${path}.items`));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    append(errors, validateNested(property, `${path}.properties[${name}]`));
  }
  const forbid = (isSet: boolean, field: string, must: string) => {
    if (isSet) errors.push(forbidden(`${path}.${field}`, `must be ${must} to be structural`));
  };
  forbid((schema.type ?? '') !== '', 'type', 'empty');
  forbid(
    schema.additionalProperties !== undefined && schema.additionalProperties !== false,
    'additionalProperties',
    'undefined',
  );
  forbid((schema.default ?? null) !== null, 'default', 'undefined');
  forbid((schema.title ?? '') !== '', 'title', 'empty');
  forbid((schema.description ?? '') !== '', 'description', 'empty');
  forbid(schema.nullable === true, 'nullable', 'false');
  for (const name of ['preserve-unknown-fields', 'embedded-resource', 'int-or-string'] as const) {
    forbid(schema[`x-kubernetes-${name}`] === true, `x-kubernetes-${name}`, 'false');
  }
  forbid((schema['x-kubernetes-list-map-keys'] ?? []).length > 0, 'x-kubernetes-list-map-keys', 'empty');
  forbid(schema['x-kubernetes-list-type'] !== undefined, 'x-kubernetes-list-type', 'undefined');
  forbid(schema['x-kubernetes-map-type'] !== undefined, 'x-kubernetes-map-type', 'undefined');
  forbid((schema['x-kubernetes-validations'] ?? []).length > 0, 'x-kubernetes-validations', 'empty');
  if (schema.properties?.metadata !== undefined) {
    errors.push(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  }
  return errors;
}

/** Fields in the alternatives of the root must also be specified outside of them. Kubernetes does not require this for nested schemas. */
function validateCompleteness(schema: JsonSchema, path: string): FieldError[] {
  return alternativesOf(schema, path).flatMap(([one, at]) => validateDescribed(one, schema, path, at));
}

function alternativesOf(schema: JsonSchema, path: string): (readonly [JsonSchema, string])[] {
  const lists = (['allOf', 'anyOf', 'oneOf'] as const).flatMap((word) =>
    (schema[word] ?? []).map((one, i) => [one, `${path}.${word}[${i}]`] as const),
  );
  return schema.not === undefined ? lists : [[schema.not, `${path}.not`], ...lists];
}

function validateDescribed(nested: JsonSchema, schema: JsonSchema | undefined, path: string, at: string): FieldError[] {
  if (schema === undefined) return [required(path, `because it is defined in ${at}`)];
  const errors = alternativesOf(nested, at).flatMap(([one, inner]) => validateDescribed(one, schema, path, inner));
  const items = itemsOf(nested);
  if (items !== undefined) append(errors, validateDescribed(items, itemsOf(schema), `${path}.items`, `${at}.items`));
  for (const [name, property] of Object.entries(nested.properties ?? {})) {
    const inner = `.properties[${name}]`;
    append(errors, validateDescribed(property, schema.properties?.[name], `${path}${inner}`, `${at}${inner}`));
  }
  return errors;
}
