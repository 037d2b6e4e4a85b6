import { errorsOf } from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { customDefinitions } from '@gantry/custom-resources';
import { checkPolicyTypes, findKind } from '@gantry/kinds';
import type { CustomResourceDefinition, KubeObject, ValidatingAdmissionPolicy } from '@gantry/objects';
import type { ParserCase } from './parser-case.ts';

const definitions = must(findKind('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition'), 'definitions');
const policies = must(findKind('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicy'), 'policies');

const TEXT = { type: 'string', maxLength: 10 };
const list = <T>(size: number, each: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => each(i));
const fields = (size: number, schema: (i: number) => object) =>
  Object.fromEntries(list(size, (i) => [`k${i}`, schema(i)]));
const withRules = (rules: readonly string[], properties: object = { a: TEXT }): object => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': rules.map((rule) => ({ rule })),
});

function nested(levels: number, others: number): object {
  let schema: object = TEXT;
  for (let level = 0; level < levels; level++) {
    schema = withRules(['true'], { a: schema, ...fields(others, () => TEXT) });
  }
  return schema;
}

/** Shapes of schemas, with the largest size whose expressions are accepted. */
const SCHEMAS: readonly (readonly [shape: string, largest: number, schemaOf: (size: number) => object])[] = [
  ['rules on each level', 490, (size) => nested(size, 0)],
  ['rules on each level of wide objects', 120, (size) => nested(size, 40)],
  ['small rules', 2700, (size) => withRules(list(size, () => 'true'))],
  ['small rules, too many', 20_000, (size) => withRules(list(size, () => 'true'))],
  ['large rules', 12, (size) => withRules(list(size, () => `self.a==''${"||self.a==''".repeat(240)}`))],
  ['large rules, too many', 300, (size) => withRules(list(size, () => `true${'&&1==1'.repeat(1200)}`))],
  ['rules that are none, too many', 300, (size) => withRules(list(size, () => '1+'.repeat(4900)))],
  [
    'rules on many fields',
    1500,
    (size) =>
      withRules(
        ['true'],
        fields(size, () => ({ ...TEXT, 'x-kubernetes-validations': [{ rule: "self!=''" }] })),
      ),
  ],
  [
    'patterns',
    340,
    (size) => ({ type: 'object', properties: fields(size, (i) => ({ type: 'string', pattern: `^a{80}${i}$` })) }),
  ],
  [
    'patterns, too many',
    8000,
    (size) => ({ type: 'object', properties: fields(size, (i) => ({ type: 'string', pattern: `^a{900}${i}$` })) }),
  ],
  ['patterns in rules, too many', 1000, (size) => withRules(list(size, (i) => `self.a.matches('^a{900}${i}$')`))],
];

function definitionWith(schema: object): CustomResourceDefinition {
  const names = { kind: 'A', listKind: 'AList', singular: 'a', plural: 'as' };
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'as.b.c' },
    spec: { group: 'b.c', scope: 'Namespaced', conversion: { strategy: 'None' }, names, versions: [version] },
  };
}

function policyWith(size: number, expression: (i: number) => string): KubeObject & ValidatingAdmissionPolicy {
  const resources = ['deployments', 'statefulsets'];
  const rule = { operations: ['*'], apiGroups: ['apps'], apiVersions: ['v1'], resources, scope: '*' };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'a' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [rule], matchPolicy: 'Equivalent' },
      variables: list(size, (i) => ({ name: `v${i}`, expression: expression(i) })),
      validations: list(size, (i) => ({ expression: `variables.v${i} == 1` })),
    },
  };
}

/** Cases for whole objects with expressions. Each expression has limits, and all expressions together have limits. */
export const expressionCases: readonly ParserCase[] = [
  ...SCHEMAS.map(
    ([shape, largest, schemaOf]): ParserCase => ({
      parser: 'kinds/definition validateCreate',
      shape,
      largest,
      prepare: (size) => {
        const crd = definitionWith(schemaOf(size));
        return () => errorsOf(definitions.strategy.validateCreate?.(crd));
      },
    }),
  ),
  ...SCHEMAS.filter(([shape]) => !shape.endsWith('too many')).map(
    ([shape, largest, schemaOf]): ParserCase => ({
      parser: 'custom-resources/customDefinitions',
      shape,
      largest,
      prepare: (size) => {
        const crd = definitionWith(schemaOf(size));
        return () => customDefinitions(crd, {});
      },
    }),
  ),
  ...(
    [
      ['variables', 1000],
      ['variables, too many', 10_000],
    ] as const
  ).map(
    ([shape, largest]): ParserCase => ({
      parser: 'kinds/policy validateCreate',
      shape,
      largest,
      prepare: (size) => {
        const policy = policyWith(size, (i) => (i === 0 ? '1' : `variables.v${i - 1}`));
        return () => policies.strategy.validateCreate?.(policy);
      },
    }),
  ),
  {
    parser: 'kinds/checkPolicyTypes',
    shape: 'variables and validations',
    largest: 500,
    prepare: (size) => {
      const policy = policyWith(size, () => 'object.spec.replicas');
      return () => checkPolicyTypes(policy, []);
    },
  },
];
