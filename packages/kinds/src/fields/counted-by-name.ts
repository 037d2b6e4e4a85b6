import type { QuotaUsage } from '@gantry/apimachinery';

/** The quota usage of a kind whose objects quotas count by the plain name of the resource too. */
export function countedByName(resource: string): QuotaUsage {
  return { limits: (name) => name === resource, usage: () => ({ [resource]: '1' }) };
}
