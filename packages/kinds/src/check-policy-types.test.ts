import { describe, expect, it } from 'vitest';
import type { CustomResourceDefinition, ValidatingAdmissionPolicy, Validation, Variable } from '@gantry/objects';
import { checkPolicyTypes } from './check-policy-types.ts';

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
} as unknown as CustomResourceDefinition;

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
