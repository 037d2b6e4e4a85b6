import { readFileSync } from 'node:fs';
import type { ValidatingAdmissionPolicy } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planPolicyStatus } from './plan.ts';

type Status = NonNullable<ValidatingAdmissionPolicy['status']>;

interface Case {
  readonly name: string;
  readonly generation?: number;
  /** When they are absent, there is no policy. */
  readonly expressions?: readonly string[];
  readonly status?: Status;
  /** The expected statuses. `warnings` lists the fields that have a warning. */
  readonly want: readonly { readonly observedGeneration: number; readonly warnings: readonly string[] }[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];

function policyOf({ generation, expressions, status }: Case): ValidatingAdmissionPolicy | undefined {
  if (expressions === undefined) return undefined;
  const matched = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'p', ...(generation === undefined ? {} : { generation }) },
    spec: {
      matchConstraints: { resourceRules: [matched] },
      validations: expressions.map((expression) => ({ expression })),
    },
    ...(status === undefined ? {} : { status }),
  };
}

function describeStatus({ observedGeneration, typeChecking }: Status) {
  return { observedGeneration, warnings: (typeChecking?.expressionWarnings ?? []).map(({ fieldRef }) => fieldRef) };
}

describe('the status of a policy', () => {
  it.each(CASES)('$name', (one) => {
    const policy = policyOf(one);
    const { actions } = planPolicyStatus(policy, []);
    expect(actions.map(({ status }) => describeStatus(status))).toEqual(one.want);
    // Once the actions are carried out, no more are planned.
    for (const { status } of actions) {
      expect(planPolicyStatus(policyOf({ ...one, status }), []).actions).toEqual([]);
    }
  });

  it('has no list of warnings where there are none', () => {
    const [clean] = planPolicyStatus(
      policyOf({ name: '', generation: 2, expressions: ['true'], want: [] }),
      [],
    ).actions;
    expect(clean?.status).toEqual({ observedGeneration: 2, typeChecking: {} });
  });
});
