import { append } from '@gantry/base';
import { followFieldPath } from '../field-path.ts';
import { type JsonSchema, type ValidationRule, givenEmpty, isJsonObject, itemsOf } from '@gantry/apimachinery';
import { type FieldError, forbidden, invalid, notSupported, repeatedAt, required } from '@gantry/objects';
import { unsupportedFinder } from './structural.ts';

/** Stands for a Kubernetes struct in the message. */
const PRINTED_STRUCT = {};

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Context of a nested schema. */
interface Surroundings {
  /** Why a default is not allowed here; undefined if it is. */
  readonly noDefaults: string | undefined;
  readonly insideMetadata: boolean;
  readonly findUnsupported: ReturnType<typeof unsupportedFinder>;
}

/** Errors of a schema itself, including the texts of its rules. The rules' expressions are checked elsewhere. */
export function validateOpenApiSchema(schema: JsonSchema, path: string): FieldError[] {
  const around = { noDefaults: undefined, insideMetadata: false, findUnsupported: unsupportedFinder() };
  return validateSchema(schema, path, around, 'root');
}

function validateSchema(
  schema: JsonSchema | undefined,
  path: string,
  around: Surroundings,
  level: 'root' | 'inner',
): FieldError[] {
  if (schema === undefined) return [];
  const inner = (other: JsonSchema | undefined, at: string, surroundings = around) =>
    validateSchema(other, `${path}.${at}`, surroundings, 'inner');
  const errors = validateKeywords(schema, path, around);
  if (schema.uniqueItems === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    errors.push(forbidden(`${path}.uniqueItems`, detail));
  }
  append(errors, validateAdditional(schema, path, around));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    append(errors, inner(property, `properties[${name}]`, propertySurroundings(schema, name, around, level)));
  }
  append(errors, inner(schema.not, 'not'));
  for (const word of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [i, one] of (schema[word] ?? []).entries()) append(errors, inner(one, `${word}[${i}]`));
  }
  for (const [name, one] of Object.entries(schema.definitions ?? {})) {
    append(errors, inner(one, `definitions[${name}]`));
  }
  append(errors, inner(itemsOf(schema), 'items'));
  if (Array.isArray(schema.items)) {
    for (const [i, one] of (schema.items as readonly JsonSchema[]).entries()) append(errors, inner(one, `items[${i}]`));
  }
  for (const [name, one] of Object.entries(schema.dependencies ?? {})) {
    if (isJsonObject(one)) append(errors, inner(one, `dependencies[${name}]`));
  }
  append(errors, [
    ...validateExtensions(schema, path),
    ...validateListType(schema, path),
    ...validateKeys(schema, path),
  ]);
  for (const [i, rule] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const follows = (fieldPath: string) =>
      around.findUnsupported(schema) !== undefined || typeof followFieldPath(schema, fieldPath) !== 'string';
    append(errors, validateRuleTexts(rule, follows, `${path}.x-kubernetes-validations[${i}]`));
  }
  return errors;
}

function propertySurroundings(
  schema: JsonSchema,
  name: string,
  around: Surroundings,
  level: 'root' | 'inner',
): Surroundings {
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  if (!isResource || !META_FIELDS.has(name)) return around;
  const noDefaults = level === 'root' ? `in top-level ${name}` : around.noDefaults;
  return { ...around, noDefaults, insideMetadata: true };
}

function validateKeywords(schema: JsonSchema, path: string, around: Surroundings): FieldError[] {
  const errors: FieldError[] = [];
  const { type = '' } = schema;
  if (type !== '' && !TYPES.includes(type)) errors.push(notSupported(`${path}.type`, type, TYPES));
  const hasDefault = schema.default !== undefined && schema.default !== null;
  if (hasDefault && around.noDefaults !== undefined) {
    errors.push(forbidden(`${path}.default`, `must not be set ${around.noDefaults}`));
  }
  const unsupported: readonly (readonly [keyof JsonSchema, boolean])[] = [
    ['id', (schema.id ?? '') !== ''],
    ['additionalItems', schema.additionalItems !== undefined],
    ['patternProperties', Object.keys(schema.patternProperties ?? {}).length > 0],
    ['definitions', Object.keys(schema.definitions ?? {}).length > 0],
    ['dependencies', schema.dependencies !== undefined || givenEmpty(schema, 'dependencies') !== undefined],
    ['$ref', schema.$ref !== undefined],
  ];
  for (const [word, isSet] of unsupported)
    if (isSet) errors.push(forbidden(`${path}.${word}`, `${word} is not supported`));
  if (type === 'null') {
    errors.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
  if (Array.isArray(schema.items) && schema.items.length > 0) {
    errors.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (around.insideMetadata && schema['x-kubernetes-embedded-resource'] === true) {
    errors.push(forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  }
  return errors;
}

function validateAdditional(schema: JsonSchema, path: string, around: Surroundings): FieldError[] {
  const { additionalProperties: values, properties = {} } = schema;
  if (values === undefined) return [];
  const errors: FieldError[] = [];
  const at = `${path}.additionalProperties`;
  if (Object.keys(properties).length > 0 && values !== true) {
    errors.push(forbidden(at, 'additionalProperties and properties are mutual exclusive'));
  }
  const noDefaults = around.insideMetadata
    ? 'inside additionalProperties applying to object metadata'
    : around.noDefaults;
  if (isJsonObject(values)) append(errors, validateSchema(values, at, { ...around, noDefaults }, 'inner'));
  return errors;
}

function validateExtensions(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { type = '' } = schema;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType === undefined) return errors;
  if (type !== 'object')
    errors.push(wrongType(`${path}.type`, type, 'must be object if x-kubernetes-map-type is specified'));
  if (mapType !== 'atomic' && mapType !== 'granular') {
    errors.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  }
  return errors;
}

function wrongType(path: string, type: string, detail: string): FieldError {
  return type === '' ? required(path, detail) : invalid(path, type, detail);
}

function validateListType(schema: JsonSchema, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === undefined) return [];
  const errors: FieldError[] = [];
  const { type = '' } = schema;
  const items = itemsOf(schema);
  if (type !== 'array') {
    errors.push(wrongType(`${path}.type`, type, 'must be array if x-kubernetes-list-type is specified'));
  } else if (listType === 'set' && items !== undefined) {
    const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
    const inner = items['x-kubernetes-list-type'];
    if (items.type === 'array' && inner !== undefined && inner !== 'atomic') {
      errors.push(invalid(`${path}.items.x-kubernetes-list-type`, inner, detail));
    }
    if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
      errors.push(invalid(`${path}.items.x-kubernetes-map-type`, inner ?? null, detail));
    }
  }
  if (!['atomic', 'set', 'map'].includes(listType)) {
    const detail = 'supported values: "atomic", "set", "map"';
    errors.push({ type: 'FieldValueNotSupported', field: `${path}.x-kubernetes-list-type`, value: listType, detail });
  }
  return errors;
}

function validateKeys(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
  if (keys.length > 0 && listType !== 'map') {
    const at = `${path}.x-kubernetes-list-type`;
    errors.push(listType === undefined ? required(at, detail) : invalid(at, listType, detail));
  }
  const items = itemsOf(schema);
  if (listType === 'map') {
    if (keys.length === 0) {
      const why = 'must not be empty if x-kubernetes-list-type is map';
      errors.push(required(`${path}.x-kubernetes-list-map-keys`, why));
    }
    if (schema.items === undefined) {
      errors.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
    }
    if (schema.items !== undefined && items === undefined) {
      const why = 'must only have a single schema if x-kubernetes-list-type is map';
      errors.push(invalid(`${path}.items`, PRINTED_STRUCT, why));
    }
    if (items !== undefined && items.type !== 'object') {
      const why = "must be object if parent array's x-kubernetes-list-type is map";
      errors.push(invalid(`${path}.items.type`, items.type ?? '', why));
    }
    if (items?.type === 'object') append(errors, validateKeyNames(keys, items, path));
  }
  if ((listType === 'map' || listType === 'set') && items !== undefined) {
    append(errors, validateNullability(schema, items, listType, path));
  }
  return errors;
}

/**
 * The number of errors that show all keys, as every error does in Kubernetes. Further errors show only their own key, so that messages grow
 * linearly.
 */
const SHOWN_WITH_ALL = 4;

function validateKeyNames(keys: readonly string[], items: JsonSchema, path: string): FieldError[] {
  const at = `${path}.x-kubernetes-list-map-keys`;
  const isRepeated = repeatedAt(keys);
  let shown = 0;
  const wrong = (key: string, why: string) => invalid(at, shown++ < SHOWN_WITH_ALL ? keys : [key], why);
  return keys.flatMap((key, i) => {
    const errors: FieldError[] = [];
    const property = items.properties?.[key];
    if (property === undefined) errors.push(wrong(key, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      const why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalid(`${path}.items.properties[${key}].type`, items.type, why));
    }
    if (isRepeated(i)) errors.push(wrong(key, 'must not contain duplicate entries'));
    return errors;
  });
}

function validateNullability(schema: JsonSchema, items: JsonSchema, listType: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (items.nullable === true) {
    errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  }
  if (listType !== 'map') return errors;
  const isRequired = new Set(items.required);
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = items.properties?.[key];
    if (property === undefined) continue;
    const at = `${path}.items.properties[${key}]`;
    if (!isRequired.has(key) && (property.default ?? null) === null) {
      const why = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      errors.push(required(`${at}.default`, why));
    }
    if (property.nullable === true) {
      const why = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable';
      errors.push(forbidden(`${at}.nullable`, why));
    }
  }
  return errors;
}

/** `follows` returns whether a path exists in the schema, as far as that is known. */
function validateRuleTexts(rule: ValidationRule, follows: (fieldPath: string) => boolean, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { rule: expression = '', message = '', messageExpression = '', reason, fieldPath = '' } = rule;
  const hasBreak = (text: string) => /[\n\r]/.test(text.trim());
  if (expression.trim() === '') errors.push(required(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '') {
    errors.push(invalid(`${path}.message`, message, 'must be non-empty if specified'));
  } else if (hasBreak(message)) errors.push(invalid(`${path}.message`, message, 'must not contain line breaks'));
  else if (hasBreak(expression) && message.trim() === '') {
    errors.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'));
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  }
  if (reason !== undefined && !REASONS.includes(reason)) errors.push(notSupported(`${path}.reason`, reason, REASONS));
  if (fieldPath !== '' && fieldPath.trim() === '') {
    errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must be non-empty if specified'));
  }
  if (/[\n\r]/.test(fieldPath)) errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must not contain line breaks'));
  if (fieldPath !== '' && !follows(fieldPath)) {
    errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
  }
  return errors;
}
