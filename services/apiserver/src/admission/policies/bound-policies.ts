import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject, MatchResources, ParamKind, ParamRef, ResourceRef } from '@gantry/objects';
import type { AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';
import { isExempt } from '../check/request-matching.ts';
import { collectParams } from './params.ts';
import { bindingMatches, policyMatches } from './policy-matching.ts';

interface Policy extends KubeObject {
  spec?: { matchConstraints?: MatchResources; paramKind?: ParamKind; failurePolicy?: string };
}

interface Binding extends KubeObject {
  spec?: { policyName?: string; paramRef?: ParamRef; matchResources?: MatchResources };
}

/** A policy that concerns a request, with one of its bindings that does too. */
export interface BoundPolicy<P, B> {
  readonly policy: P;
  readonly binding: B;
  /** The version in which the policy is about the request. */
  readonly as: ResourceDefinition;
  /** Parameters, one evaluation each; or why they cannot be had. */
  readonly params: readonly (KubeObject | null)[] | { readonly error: string };
}

/** The policies that concern a request, by name, each with its bindings, by name. */
export async function boundPolicies<P extends Policy, B extends Binding>(
  of: { readonly policies: ResourceRef; readonly bindings: ResourceRef },
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<readonly BoundPolicy<P, B>[]> {
  if (isExempt(request) || request.definition.exemptFromPolicies === true) return [];
  const policies = byName(await reader.list<P>(of.policies, ''));
  if (policies.length === 0) return [];
  const bindings = byName(await reader.list<B>(of.bindings, ''));
  const found: BoundPolicy<P, B>[] = [];
  for (const policy of policies) {
    const own = bindings.filter(({ spec }) => spec?.policyName === policy.metadata.name);
    if (own.length === 0) continue;
    const { matchConstraints, paramKind } = policy.spec ?? {};
    const as = await policyMatches(matchConstraints, request, reader);
    if (as === undefined) continue;
    for (const binding of own) {
      const { matchResources, paramRef } = binding.spec ?? {};
      if (!(await bindingMatches(matchResources, request, reader))) continue;
      found.push({ policy, binding, as, params: await collectParams(paramKind, paramRef, request.namespace, reader) });
    }
  }
  return found;
}

function byName<T extends KubeObject>(objects: readonly T[]): readonly T[] {
  return [...objects].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}
