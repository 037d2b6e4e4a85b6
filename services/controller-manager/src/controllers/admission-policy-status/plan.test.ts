import type { ValidatingAdmissionPolicy } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planPolicyStatus } from './plan.ts';

const policy = (expression: string, status?: ValidatingAdmissionPolicy['status']): ValidatingAdmissionPolicy => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'p', generation: 2 },
  spec: {
    matchConstraints: {
      resourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
    },
    validations: [{ expression }],
  },
  ...(status === undefined ? {} : { status }),
});

describe('the status of a policy', () => {
  it('tells what was found of each generation, once', () => {
    const [clean] = planPolicyStatus(policy("object.spec.nodeName == ''"), []).actions;
    expect(clean?.status).toEqual({ observedGeneration: 2, typeChecking: {} });
    const [wrong] = planPolicyStatus(policy('object.spec.nodeName == 1', { observedGeneration: 1 }), []).actions;
    expect(wrong?.status.typeChecking?.expressionWarnings).toHaveLength(1);
    expect(planPolicyStatus(policy('true', wrong?.status), []).actions).toEqual([]);
    expect(planPolicyStatus(undefined, []).actions).toEqual([]);
  });
});
