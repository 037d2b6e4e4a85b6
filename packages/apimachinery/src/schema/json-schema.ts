/** A schema of a CustomResourceDefinition as JSON. Items and additionalProperties are normalised to the part that is stored. */
export interface JsonSchema {
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema | readonly JsonSchema[] | null;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly id?: string;
  readonly $ref?: string;
  readonly $schema?: string;
  readonly example?: unknown;
  readonly externalDocs?: unknown;
  readonly additionalItems?: JsonSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly dependencies?: Readonly<Record<string, JsonSchema | readonly string[]>>;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

export interface ValidationRule {
  readonly rule?: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** Fields that every object has, whatever its schema. */
export const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** The schema of all items of a list; undefined where there is none. */
export function itemsOf(schema: JsonSchema | undefined): JsonSchema | undefined {
  const items = schema?.items;
  return items === undefined || items === null || isList(items) ? undefined : items;
}

function isList(items: JsonSchema | readonly JsonSchema[]): items is readonly JsonSchema[] {
  return Array.isArray(items);
}

/** The schema of the values of a map; undefined for `true` and `false`. */
export function valuesOf(schema: JsonSchema | undefined): JsonSchema | undefined {
  const values = schema?.additionalProperties;
  return typeof values === 'object' ? values : undefined;
}

/** The schema of a named property. */
export function propertyOf(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  const properties = schema?.properties;
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** The schema of a resource's root. Like embedded resources, it has metadata implicitly. */
export function asResourceRoot(schema: JsonSchema): JsonSchema {
  return schema['x-kubernetes-embedded-resource'] === true
    ? schema
    : { ...schema, 'x-kubernetes-embedded-resource': true };
}

/** Whether a JSON value is an object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
