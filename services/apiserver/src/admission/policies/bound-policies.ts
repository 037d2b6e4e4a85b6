import type { ResourceDefinition } from '@gantry/apimachinery';
import {
  type KubeObject,
  labelSelectorFrom,
  type MatchResources,
  type ParamKind,
  type ParamRef,
  parseApiVersion,
  type ResourceRef,
} from '@gantry/objects';
import type { AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';
import { isExempt, matchNamespace, matchObject, matchRules } from '../check/request-matching.ts';

/** The parameters of a binding, with one evaluation for each; or the error why they are not available. */
type Params = readonly (KubeObject | null)[] | { readonly error: string };

/** Looks up the parameters of a binding for a request in `namespace`. */
async function collectParams(
  kind: ParamKind | undefined,
  ref: ParamRef | undefined,
  namespace: string,
  reader: AdmissionReader,
): Promise<Params> {
  if (kind === undefined || ref === undefined) return [null];
  const { apiVersion = '', kind: name = '' } = kind;
  const { group, version } = parseApiVersion(apiVersion);
  const definition = reader.served.findKind(group, version, name);
  if (definition === undefined) return { error: `paramKind kind \`${apiVersion}, Kind=${name}\` not known` };
  const { namespace: own = '' } = ref;
  if (!definition.namespaced && own !== '') {
    return { error: 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`' };
  }
  const where = definition.namespaced ? (own === '' ? namespace : own) : '';
  if (definition.namespaced && where === '') {
    return { error: 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources' };
  }
  const params = await find(
    ref,
    (by) => reader.find(definition, where, by),
    () => reader.list(definition, where),
  );
  if (params.length === 0 && ref.parameterNotFoundAction === 'Deny') {
    return { error: 'no params found for policy binding with `Deny` parameterNotFoundAction' };
  }
  return params;
}

async function find(
  { name = '', selector }: ParamRef,
  get: (name: string) => Promise<KubeObject | undefined>,
  list: () => Promise<readonly KubeObject[]>,
): Promise<readonly KubeObject[]> {
  if (name !== '') {
    const found = await get(name);
    return found === undefined ? [] : [found];
  }
  const parsed = labelSelectorFrom(selector ?? {});
  return (await list()).filter(({ metadata }) => parsed.matches(metadata.labels));
}

/** The version in which a policy matches a request; undefined when it does not match. */
async function policyMatches(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<ResourceDefinition | undefined> {
  const { matchPolicy, resourceRules = [], excludeResourceRules = [], namespaceSelector, objectSelector } = match ?? {};
  if (!(await matchNamespace(namespaceSelector, request, reader))) return undefined;
  if (!matchObject(objectSelector, request)) return undefined;
  if (matchRules(request, { rules: excludeResourceRules, matchPolicy }, reader.served) !== undefined) return undefined;
  // Without rules, the policy matches everything that the selectors match.
  return resourceRules.length === 0
    ? request.definition
    : matchRules(request, { rules: resourceRules, matchPolicy }, reader.served);
}

/** Whether a binding matches a request. Without matchResources it matches every request. */
async function bindingMatches(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<boolean> {
  return match === undefined || (await policyMatches(match, request, reader)) !== undefined;
}

interface Policy extends KubeObject {
  spec?: { matchConstraints?: MatchResources; paramKind?: ParamKind; failurePolicy?: string };
}

interface Binding extends KubeObject {
  spec?: { policyName?: string; paramRef?: ParamRef; matchResources?: MatchResources };
}

/** A policy that matches a request, with one of its matching bindings. */
export interface BoundPolicy<P, B> {
  readonly policy: P;
  readonly binding: B;
  /** The version in which the policy matches the request. */
  readonly as: ResourceDefinition;
  /** The parameters, with one evaluation for each; or the error why they are not available. */
  readonly params: readonly (KubeObject | null)[] | { readonly error: string };
}

/** The policies that match a request with their matching bindings, sorted by name. */
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
