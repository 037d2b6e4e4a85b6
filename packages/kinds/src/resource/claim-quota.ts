import type { QuotaUsage } from '@gantry/apimachinery';
import type { ResourceResourceClaim } from '@gantry/objects';
import { addAmounts, type Amounts } from '../fields/amounts.ts';

const DEVICES_SUFFIX = '.deviceclass.resource.k8s.io/devices';
/** The number of devices that a request for all devices counts as. */
const ALL_DEVICES = 32;

/** Resource claims count by devices of each class. */
export const deviceQuota: QuotaUsage<ResourceResourceClaim> = {
  limits: (name) => name.endsWith(DEVICES_SUFFIX),
  usage: deviceUsage,
};

/** Devices by class; of alternatives the worst for each class. */
function deviceUsage({ spec }: ResourceResourceClaim): Amounts {
  const usage: Record<string, string> = {};
  const countOf = ({ allocationMode, count = 0 }: { allocationMode?: string; count?: number }) =>
    allocationMode === 'All' ? ALL_DEVICES : allocationMode === 'ExactCount' ? count : 0;
  for (const { exactly, firstAvailable = [] } of spec?.devices?.requests ?? []) {
    const most = new Map<string, number>();
    const wanted = firstAvailable.length > 0 ? firstAvailable : exactly === undefined ? [] : [exactly];
    for (const one of wanted) {
      const name = `${one.deviceClassName ?? ''}${DEVICES_SUFFIX}`;
      most.set(name, Math.max(most.get(name) ?? 0, countOf(one)));
    }
    for (const [name, count] of most) usage[name] = addAmounts(usage[name] ?? '0', String(count));
  }
  return usage;
}
