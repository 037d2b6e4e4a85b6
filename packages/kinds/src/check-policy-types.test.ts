import { type Errors, errorsOf } from '@gantry/apimachinery';
import { describe, expect, it } from 'vitest';
import type { CustomResourceDefinition, ValidatingAdmissionPolicy, Validation, Variable } from '@gantry/objects';
import { must } from '@gantry/base';
import { checkPolicyTypes } from './check-policy-types.ts';
import { findKind } from './registry.ts';

const policy = (
  validations: Validation[],
  resource: readonly [group: string, version: string, plural: string] = ['apps', 'v1', 'deployments'],
  rest: { variables?: Variable[]; paramKind?: { apiVersion: string; kind: string } } = {},
): ValidatingAdmissionPolicy => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'p' },
  spec: {
    matchConstraints: {
      resourceRules: [
        { operations: ['*'], apiGroups: [resource[0]], apiVersions: [resource[1]], resources: [resource[2]] },
      ],
    },
    validations,
    ...rest,
  },
});
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'crontabs.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'crontabs', kind: 'CronTab' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
} as CustomResourceDefinition;

const definitions = must(findKind('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition'), 'definitions');
const policies = must(findKind('admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicy'), 'policies');
const RULE = `true${'&&1==1'.repeat(1000)}`;

describe('all expressions of an object together', () => {
  const definitionOf = (rules: number, pattern = 'a') => ({
    ...structuredClone(crd),
    status: { storedVersions: ['v1'] },
    spec: {
      ...crd.spec,
      conversion: { strategy: 'None' },
      names: { ...crd.spec.names, singular: 'crontab', listKind: 'CronTabList' },
      versions: [
        {
          ...crd.spec.versions[0],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { a: { type: 'string', pattern } },
              'x-kubernetes-validations': Array.from({ length: rules }, () => ({ rule: RULE })),
            },
          },
        },
      ],
    },
  });
  const details = (errors: Errors | undefined) => errorsOf(errors).map(({ detail = '' }) => detail);

  it('have a bound in a definition, and one message says so', () => {
    const create = (definition: object) => details(definitions.strategy.validateCreate?.(definition as never));
    expect(create(definitionOf(3))).toEqual([]);
    expect(create(definitionOf(40))).toEqual([expect.stringContaining('more than 30000 parts together')]);
    expect(create(definitionOf(0, Array.from({ length: 40 }, () => 'a{900}').join('')))).toEqual([
      expect.stringContaining('more than 30000 parts together'),
    ]);
  });

  it('have none in a definition that keeps the schema with which it was stored', () => {
    const stored = definitionOf(20) as never;
    expect(details(definitions.strategy.validateUpdate?.(stored, stored)).join()).not.toContain('together');
  });

  it('have a bound in a policy, but for one that keeps what it has', () => {
    const large = policy(Array.from({ length: 20 }, () => ({ expression: RULE }))) as never;
    expect(details(policies.strategy.validateCreate?.(large)).join()).toContain('more than 30000 parts together');
    expect(details(policies.strategy.validateUpdate?.(large, large)).join()).not.toContain('together');
  });
});

describe('the types of the expressions of a policy', () => {
  it('are those of the kinds that it names', () => {
    expect(checkPolicyTypes(policy([{ expression: 'object.spec.replicas > 1' }]), [])).toEqual([]);
    const wrong = checkPolicyTypes(
      policy([{ expression: "object.spec.replicas > '1'", messageExpression: "'n: ' + object.spec.replicas" }]),
      [],
    );
    expect(wrong).toEqual([
      {
        fieldRef: 'spec.validations[0].expression',
        warning:
          "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
      },
      {
        fieldRef: 'spec.validations[0].messageExpression',
        warning: expect.stringContaining("found no matching overload for '_+_' applied to '(string, int)'"),
      },
    ]);
  });

  it('know custom kinds, variables and parameters', () => {
    const tabs = ['example.com', 'v1', 'crontabs'] as const;
    const check = (expression: string, rest: object = {}) =>
      checkPolicyTypes(policy([{ expression }], tabs, rest), [crd])
        .map(({ warning }) => warning)
        .join();
    expect(check('object.spec.replicas > 1')).toBe('');
    expect(check("object.spec.replicas == '1'")).toContain('example.com/v1, Kind=CronTab: ERROR');
    expect(
      check('variables.n.size() > 1', { variables: [{ name: 'n', expression: 'object.spec.replicas' }] }),
    ).toContain('found no matching overload');
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    expect(check('params.data.x == 1', { paramKind })).toContain("applied to '(string, int)'");
    expect(check('params.nothing', { paramKind })).toContain("undefined field 'nothing'");
  });

  it('are not asked about where a rule names no kinds', () => {
    const any = policy([{ expression: 'object.none > 1' }], ['apps', '*', 'deployments']);
    expect(checkPolicyTypes(any, [])).toEqual([]);
  });
});
