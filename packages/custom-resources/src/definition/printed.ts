import { type JsonSchema, givenEmpty, isJsonObject } from '@gantry/apimachinery';
import type { CustomResourceDefinitionVersion } from '@gantry/objects';

type Printed = Readonly<Record<string, unknown>>;

/** The fields of a schema in Kubernetes' order, with Kubernetes' names and the values of absent ones. */
const WORDS: readonly (readonly [keyof JsonSchema, string, unknown])[] = [
  ['id', 'ID', ''],
  ['$schema', 'Schema', ''],
  ['$ref', 'Ref', null],
  ['description', 'Description', ''],
  ['type', 'Type', ''],
  ['nullable', 'Nullable', false],
  ['format', 'Format', ''],
  ['title', 'Title', ''],
  ['default', 'Default', null],
  ['maximum', 'Maximum', null],
  ['exclusiveMaximum', 'ExclusiveMaximum', false],
  ['minimum', 'Minimum', null],
  ['exclusiveMinimum', 'ExclusiveMinimum', false],
  ['maxLength', 'MaxLength', null],
  ['minLength', 'MinLength', null],
  ['pattern', 'Pattern', ''],
  ['maxItems', 'MaxItems', null],
  ['minItems', 'MinItems', null],
  ['uniqueItems', 'UniqueItems', false],
  ['multipleOf', 'MultipleOf', null],
  ['enum', 'Enum', null],
  ['maxProperties', 'MaxProperties', null],
  ['minProperties', 'MinProperties', null],
  ['required', 'Required', null],
  ['items', 'Items', null],
  ['allOf', 'AllOf', null],
  ['oneOf', 'OneOf', null],
  ['anyOf', 'AnyOf', null],
  ['not', 'Not', null],
  ['properties', 'Properties', null],
  ['additionalProperties', 'AdditionalProperties', null],
  ['patternProperties', 'PatternProperties', null],
  ['dependencies', 'Dependencies', null],
  ['additionalItems', 'AdditionalItems', null],
  ['definitions', 'Definitions', null],
  ['externalDocs', 'ExternalDocs', null],
  ['example', 'Example', null],
  ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields', null],
  ['x-kubernetes-embedded-resource', 'XEmbeddedResource', false],
  ['x-kubernetes-int-or-string', 'XIntOrString', false],
  ['x-kubernetes-list-map-keys', 'XListMapKeys', null],
  ['x-kubernetes-list-type', 'XListType', null],
  ['x-kubernetes-map-type', 'XMapType', null],
  ['x-kubernetes-validations', 'XValidations', null],
];

/** Kubernetes' names and the values of the fields that a schema uses, in Kubernetes' order. */
export function* wordsOf(schema: JsonSchema): Generator<{ readonly name: string; readonly value: unknown }> {
  for (const [word, name, absent] of WORDS) {
    const value = schema[word] ?? givenEmpty(schema, word);
    if (value !== undefined && value !== absent) yield { name, value };
  }
}

/** A version as Kubernetes prints it after moving common parts to the spec. */
export function printedVersion(version: CustomResourceDefinitionVersion): Printed {
  const { schema, subresources, additionalPrinterColumns: columns, selectableFields: fields } = version;
  return {
    Name: version.name ?? '',
    Served: version.served ?? false,
    Storage: version.storage ?? false,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: schema === undefined ? null : { OpenAPIV3Schema: printedOrNull(schema.openAPIV3Schema) },
    Subresources: subresources === undefined ? null : printedSubresources(subresources),
    AdditionalPrinterColumns: columns?.map(printedColumn) ?? null,
    SelectableFields: fields?.map(({ jsonPath }) => ({ JSONPath: jsonPath ?? '' })) ?? null,
  };
}

function printedSubresources({ status, scale }: NonNullable<CustomResourceDefinitionVersion['subresources']>): Printed {
  return {
    Status: status === undefined ? null : {},
    Scale:
      scale === undefined
        ? null
        : {
            SpecReplicasPath: scale.specReplicasPath ?? '',
            StatusReplicasPath: scale.statusReplicasPath ?? '',
            LabelSelectorPath: scale.labelSelectorPath ?? null,
          },
  };
}

function printedColumn(
  column: NonNullable<CustomResourceDefinitionVersion['additionalPrinterColumns']>[number],
): Printed {
  return {
    Name: column.name ?? '',
    Type: column.type ?? '',
    Format: column.format ?? '',
    Description: column.description ?? '',
    Priority: column.priority ?? 0,
    JSONPath: column.jsonPath ?? '',
  };
}

function printedOrNull(schema: unknown): Printed | null {
  return isJsonObject(schema) ? printedSchema(schema) : null;
}

/** As Kubernetes prints a schema. */
export function printedSchema(schema: JsonSchema): Printed {
  return Object.fromEntries(
    WORDS.map(([word, name, absent]) => [name, printedWord(word, schema[word]) ?? givenEmpty(schema, word) ?? absent]),
  );
}

function printedWord(word: keyof JsonSchema, value: unknown): unknown {
  if (value === undefined) return undefined;
  const list = (values: unknown) => (Array.isArray(values) && values.length > 0 ? values.map(printedOrNull) : null);
  switch (word) {
    case 'items':
      return { Schema: printedOrNull(value), JSONSchemas: list(value) };
    case 'additionalProperties':
    case 'additionalItems':
      return { Allows: value !== false, Schema: printedOrNull(value) };
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return list(value);
    case 'not':
      return printedOrNull(value);
    case 'properties':
    case 'patternProperties':
    case 'definitions':
      return printedMap(value, printedOrNull);
    case 'dependencies':
      return printedMap(value, (one) => ({ Schema: printedOrNull(one), Property: Array.isArray(one) ? one : null }));
    case 'externalDocs': {
      const { description = '', url = '' } = value as { description?: string; url?: string };
      return { Description: description, URL: url };
    }
    case 'x-kubernetes-validations':
      return (value as NonNullable<JsonSchema['x-kubernetes-validations']>).map(printedRule);
    default:
      return value;
  }
}

function printedMap(value: unknown, print: (one: unknown) => unknown): Printed {
  const entries = Object.entries(value as object) as [string, unknown][];
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, print(one)]));
}

type Rule = NonNullable<JsonSchema['x-kubernetes-validations']>[number];

/** As Kubernetes prints a rule. */
export function printedRule(rule: Rule): Printed {
  return {
    Rule: rule.rule ?? '',
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
