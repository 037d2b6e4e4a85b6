import type { Plan } from '@gantry/base';
import { checkPolicyTypes } from '@gantry/kinds';
import type { CustomResourceDefinition, ValidatingAdmissionPolicy } from '@gantry/objects';

export type Action = {
  readonly kind: 'applyStatus';
  readonly status: NonNullable<ValidatingAdmissionPolicy['status']>;
};

/** Each generation of a policy is checked once against the kinds that it names, and its status says what was found. */
export function planPolicyStatus(
  policy: ValidatingAdmissionPolicy | undefined,
  crds: readonly CustomResourceDefinition[],
): Plan<Action> {
  const generation = policy?.metadata.generation ?? 0;
  if (policy === undefined || generation <= (policy.status?.observedGeneration ?? 0)) return { actions: [] };
  const warnings = checkPolicyTypes(policy, crds);
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: [...warnings] };
  return { actions: [{ kind: 'applyStatus', status: { observedGeneration: generation, typeChecking } }] };
}
