import { type MatchCondition, type ResourceDefinition, StatusError } from '@gantry/api';
import type { AdmissionRequest } from './admission-check.ts';

/**
 * Whether all conditions hold. One that cannot be evaluated refuses the request, or with failure policy Ignore counts as one
 * that does not hold.
 */
export function matchConditions(
  conditions: readonly MatchCondition[],
  request: AdmissionRequest,
  as: ResourceDefinition,
  failurePolicy: string | undefined,
): boolean {
  const [first] = conditions;
  if (first === undefined) return true;
  if (failurePolicy === 'Ignore') return false;
  const why = `expression '${first.expression}' resulted in error: expressions are not evaluated by this server`;
  throw StatusError.forbidden({ group: as.group, resource: as.resource }, request.name, why);
}
