import { beforeEach, describe, expect, it } from 'vitest';
import { startHarness, type Harness } from '../../registry/testing.ts';

const API = 'admissionregistration.k8s.io/v1';
const RULE = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

describe('validating admission policies', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  async function policy(spec: object, binding: object = {}): Promise<void> {
    await h.create('validatingadmissionpolicies', {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'p' },
      spec: { matchConstraints: { resourceRules: [RULE] }, ...spec },
    });
    await h.create('validatingadmissionpolicybindings', {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'], ...binding },
    });
  }
  const configMap = (name: string, data: object = {}, labels: object = {}) =>
    h.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data });

  it('refuse by expression, with the message and reason that are given', async () => {
    await policy({
      variables: [{ name: 'short', expression: 'size(object.metadata.name) < 3' }],
      validations: [
        {
          expression: 'variables.short',
          messageExpression: "'too long: ' + object.metadata.name",
          reason: 'Forbidden',
        },
      ],
    });
    await configMap('ab');
    await expect(configMap('abc')).rejects.toMatchObject({
      reason: 'Forbidden',
      code: 403,
      message:
        "configmaps \"abc\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too long: abc",
    });
  });

  it('evaluate a variable once, also one whose value is null', async () => {
    await policy({
      variables: [{ name: 'v', expression: 'lists.range(100000).all(x, x >= 0) ? null : object' }],
      validations: [{ expression: 'lists.range(60).all(x, variables.v == null)' }],
    });
    expect((await configMap('a')).metadata.name).toBe('a');
  });

  it('take parameters, and miss them as the binding says', async () => {
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConditions: [{ name: 'm', expression: "object.metadata.name != 'limit'" }],
      validations: [{ expression: 'object.data.n == params.data.n' }],
    };
    await policy(spec, { paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' } });
    await expect(configMap('a', { n: '1' })).rejects.toThrow(
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    );
  });

  it('warn instead, and count what cannot be evaluated as failed unless that is ignored', async () => {
    await policy({ validations: [{ expression: 'object.data.missing == "x"' }] }, { validationActions: ['Warn'] });
    await configMap('a', { n: '1' });
    expect(h.warnings.join()).toContain(
      "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': expression 'object.data.missing == \"x\"' resulted in error: no such key: missing",
    );
  });

  it('know the request, the namespace and who may do what', async () => {
    await policy({
      validations: [
        { expression: "request.operation == 'CREATE' && request.userInfo.username == 'kubernetes-admin'" },
        { expression: "namespaceObject.metadata.name == 'n'" },
        { expression: "authorizer.group('').resource('pods').namespace('n').check('get').allowed()" },
        { expression: "authorizer.requestResource.check('create').allowed()" },
        { expression: 'oldObject == null' },
      ],
    });
    expect((await configMap('a')).metadata.name).toBe('a');
  });
});
