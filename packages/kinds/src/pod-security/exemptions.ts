import { type PodSecurityPolicy, formatLevel } from './pod-security-policy.ts';

/** Requests that are exempt from Pod Security: `exemptions` of Kubernetes' PodSecurityConfiguration. Each list contains exact names. */
export interface PodSecurityExemptions {
  /** Users whose own requests are exempt. The pods of a controller are created by the controller, not by such a user. */
  readonly usernames: readonly string[];
  /** Pods of these RuntimeClasses are exempt. */
  readonly runtimeClasses: readonly string[];
  readonly namespaces: readonly string[];
}

/** Kubernetes' default. */
export const NO_POD_SECURITY_EXEMPTIONS: PodSecurityExemptions = { usernames: [], runtimeClasses: [], namespaces: [] };

/** The warning for an exempt namespace whose labels require a level; undefined if they require none. */
export function exemptNamespaceWarning(namespace: string, policy: PodSecurityPolicy): string | undefined {
  const demands = (['enforce', 'audit', 'warn'] as const)
    .filter((mode) => policy[mode].level !== 'privileged')
    .map((mode) => `${mode}=${formatLevel(policy[mode])}`);
  if (demands.length === 0) return undefined;
  const levels = demands.join(', ');
  return `namespace ${JSON.stringify(namespace)} is exempt from Pod Security, and the policy (${levels}) will be ignored`;
}
