import { describe, expect, it } from 'vitest';
import { type JsonSchema, decodeStruct, errorsOf, schemaOf, normaliseShape } from '@gantry/apimachinery';
import { type CustomResourceDefinition, type CustomResourceDefinitionSpec, formatFieldError } from '@gantry/objects';
import { customResourceDefinitions } from './custom-resource-definition.ts';

const KIND = 'apiextensions.v1.CustomResourceDefinition';

function definition(version: object, spec: object = {}): CustomResourceDefinition {
  const sent = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, ...version }],
      ...spec,
    },
  };
  const { value } = decodeStruct(schemaOf(KIND), sent);
  const crd = normaliseShape(value, KIND) as CustomResourceDefinition;
  const { applyDefaults, prepareForCreate } = customResourceDefinitions.strategy;
  prepareForCreate?.(crd, { now: 0, user: { name: '', uid: '', groups: [], extra: {} }, warn: () => undefined });
  applyDefaults?.(crd);
  return crd;
}

const told = (crd: CustomResourceDefinition, old?: CustomResourceDefinition): readonly string[] => {
  const { validateCreate, validateUpdate } = customResourceDefinitions.strategy;
  const errors = old === undefined ? validateCreate?.(crd) : validateUpdate?.(crd, old);
  return errorsOf(errors).map(
    (error) => `${error.field.replace('spec.validation.openAPIV3Schema', '~')}: ${formatFieldError(error)}`,
  );
};

const schema = (properties: object, more: object = {}) => ({
  schema: { openAPIV3Schema: { type: 'object', properties, ...more } },
});

const rule = (more: object, of: object = { type: 'object', properties: { a: { type: 'string' } } }) =>
  schema({ spec: { ...of, 'x-kubernetes-validations': [{ rule: 'true', ...more }] } });

const SPEC = '~.properties[spec]';
const RULE = `${SPEC}.x-kubernetes-validations[0]`;
const free: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true };

describe('schemas of a definition', () => {
  it.each<[string, object, readonly string[]]>([
    ['a field that is there', rule({ fieldPath: '.a' }), []],
    ['a quoted field', rule({ fieldPath: "['a']" }), []],
    ['no field', rule({ fieldPath: '.nope' }), [`${RULE}.fieldPath: Invalid value: ".nope": must be a valid path`]],
    ['no path', rule({ fieldPath: 'a' }), [`${RULE}.fieldPath: Invalid value: "a": must be a valid path`]],
    ['a list item', rule({ fieldPath: '.a[0]' }), [`${RULE}.fieldPath: Invalid value: ".a[0]": must be a valid path`]],
    [
      'blanks for a path',
      rule({ fieldPath: ' ' }),
      [
        `${RULE}.fieldPath: Invalid value: " ": must be non-empty if specified`,
        `${RULE}.fieldPath: Invalid value: " ": must be a valid path`,
      ],
    ],
    [
      'a rule on what nothing is known of',
      rule({}, free),
      [
        `${SPEC}.x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations`,
      ],
    ],
    [
      'an old value in a map that is replaced as a whole',
      schema({
        spec: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: { a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] } },
        },
      }),
      [
        `${SPEC}.properties[a].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec]`,
      ],
    ],
    [
      'a broken rule beside a broken schema, of which only that around it matters',
      schema({
        a: { type: 'string', maxLength: 9, 'x-kubernetes-validations': [{ rule: 'self' }] },
        b: { type: 'string', 'x-kubernetes-map-type': 'atomic', 'x-kubernetes-validations': [{ rule: 'self' }] },
      }),
      [
        '~.properties[b].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
        '~.properties[a].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool',
      ],
    ],
    [
      'alternatives at the root that speak of what is not described',
      schema({}, { anyOf: [{ properties: { a: { minLength: 1 } } }] }),
      [
        '~.properties[a]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[a]',
      ],
    ],
    [
      'the same further down, which is let be',
      schema({ spec: { type: 'object', anyOf: [{ properties: { a: { minLength: 1 } } }] } }),
      [],
    ],
    [
      'a list of schemas, which hides what else is not structural',
      schema({ a: { type: 'array', items: [{ type: 'string' }] }, b: {} }),
      ['~.properties[a].items: Forbidden: items must be a schema object and not an array'],
    ],
    [
      'a word that only structural schemas lack',
      schema({ a: { type: 'string', $schema: 'x' } }),
      [`~: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`],
    ],
    [
      'something that is no schema where one should be',
      schema({ a: { type: 'array', items: 'x' } }),
      ['~.properties[a].items: Required value: must be specified'],
    ],
    [
      'a default that a rule is against',
      schema({ a: { type: 'string', default: 'x', 'x-kubernetes-validations': [{ rule: "self == 'y'" }] } }),
      [`~.properties[a].default: Invalid value: "x": failed rule: self == 'y'`],
    ],
    [
      'a default of a format that the type does not have',
      schema({ a: { type: 'string', format: 'bogus', default: 1 } }),
      ['~.properties[a].default: Invalid value: "int64":  in body must be of type bogus: "int64"'],
    ],
    [
      'a default in the metadata of an embedded resource',
      schema({
        a: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          properties: { kind: { type: 'string', default: 'a b' }, apiVersion: { type: 'string', default: 'v1' } },
        },
      }),
      [
        `~.properties[a].properties[kind].default: Invalid value: "a b": must result in valid metadata: kind: Invalid value: "a b": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      ],
    ],
  ])('with %s', (_name, version, expected) => {
    expect(told(definition(version))).toEqual(expected);
  });

  it('warn of formats that mean nothing to their types', () => {
    const crd = definition(schema({ a: { type: 'string', format: 'int32' }, b: { type: 'integer', format: 'int32' } }));
    expect(customResourceDefinitions.strategy.warnings?.(crd)).toEqual(['unrecognized format "int32"']);
  });

  it('may cost as much as they did when they stay', () => {
    const costly = schema({
      spec: {
        type: 'array',
        items: { type: 'string' },
        'x-kubernetes-validations': [{ rule: 'self.all(x, self.all(y, x == y))' }],
      },
    });
    const rules = told(definition(costly));
    expect(rules.some((text) => text.includes('estimated rule cost exceeds budget'))).toBe(true);
    const again = told(definition(costly), definition(costly));
    expect(again.some((text) => text.includes('estimated rule cost exceeds budget'))).toBe(false);
    expect(again.length).toBeLessThan(rules.length);
  });
});

describe('selectable fields', () => {
  it.each<[string, readonly string[]]>([
    [
      '.spec',
      [
        'Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      ],
    ],
    ['.spec.a', []],
    ['.spec.nope', ['Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field']],
    [".spec['a']", [`Invalid value: ".spec['a']": is an invalid path: array notation is not allowed`]],
    ['spec', ['Invalid value: "spec": is an invalid path: expected [ or . but got: spec']],
    ['.spec.', ['Invalid value: ".spec.": is an invalid path: unexpected end of JSON path']],
  ])('%s', (jsonPath, expected) => {
    const version = {
      ...schema({ spec: { type: 'object', properties: { a: { type: 'string' } } } }),
      selectableFields: [{ jsonPath }],
    };
    const path = 'spec.selectableFields[0].jsonPath: ';
    expect(told(definition(version))).toEqual(expected.map((text) => `${path}${text}`));
  });
});

describe('a definition', () => {
  const versions = (...names: readonly string[]) => ({
    versions: names.map((name) => ({
      name,
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { ...free, type: 'object' } },
    })),
  });

  it('finds the stored version of two of one name once', () => {
    expect(told(definition({}, versions('v1', 'v1'))).at(-1)).toBe(
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v1',
    );
  });

  it('needs a strategy where it speaks of conversion', () => {
    const spec: Partial<CustomResourceDefinitionSpec> = { conversion: {} as never };
    expect(told(definition(schema({}), spec))).toEqual(['spec.conversion.strategy: Required value']);
  });

  it('prints versions in the names of Kubernetes', () => {
    const version = { ...schema({ a: { type: 'string', pattern: '<' } }), storage: false };
    const other = { name: 'v2', served: true, storage: false, ...schema({}) };
    const first = { name: 'v1', served: true, ...version };
    const [text = ''] = told(definition({}, { versions: [first, other] }));
    expect(text).toContain('"Pattern":"\\u003c"');
    expect(text).toContain('[{"Name":"v1","Served":true,"Storage":false,"Deprecated":false');
  });
});
