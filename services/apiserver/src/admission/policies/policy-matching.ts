import type { ResourceDefinition } from '@gantry/apimachinery';
import type { MatchResources } from '@gantry/objects';
import type { AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';
import { matchNamespace, matchObject, matchRules } from '../check/request-matching.ts';

/** The version in which a policy is about a request; undefined when it is not. */
export async function policyMatches(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<ResourceDefinition | undefined> {
  const { matchPolicy, resourceRules = [], excludeResourceRules = [], namespaceSelector, objectSelector } = match ?? {};
  if (!(await matchNamespace(namespaceSelector, request, reader))) return undefined;
  if (!matchObject(objectSelector, request)) return undefined;
  if (matchRules(request, { rules: excludeResourceRules, matchPolicy }, reader.served) !== undefined) return undefined;
  // Without rules everything that the selectors leave is meant.
  return resourceRules.length === 0
    ? request.definition
    : matchRules(request, { rules: resourceRules, matchPolicy }, reader.served);
}

/** Whether a binding holds for a request: everywhere when it does not say where. */
export async function bindingMatches(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<boolean> {
  return match === undefined || (await policyMatches(match, request, reader)) !== undefined;
}
