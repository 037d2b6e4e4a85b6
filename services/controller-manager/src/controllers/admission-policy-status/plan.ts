import type { Plan } from '@gantry/base';
import { checkPolicyTypes } from '@gantry/kinds';
import type { CustomResourceDefinition, ValidatingAdmissionPolicy } from '@gantry/objects';

export type Action = {
  readonly kind: 'applyStatus';
  readonly status: NonNullable<ValidatingAdmissionPolicy['status']>;
};

/** Checks each generation of a policy once against the kinds that it names, and reports the result in its status. */
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
