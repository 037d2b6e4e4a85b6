import type { QuotaUsage } from '@gantry/apimachinery';
import { classOfClaim, type PersistentVolumeClaim, quantityMilli } from '@gantry/objects';
import { type Amounts, compareAmounts, satisfiesScope } from '../../fields/quota.ts';

const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';
const CLAIM_NAMES = ['persistentvolumeclaims', 'requests.storage'];

/** Quotas count claims by number and by requested storage, in total and per storage class. */
export const claimQuota: QuotaUsage<PersistentVolumeClaim> = {
  limits: (name) => CLAIM_NAMES.some((own) => name === own || name.endsWith(`${CLASS_SUFFIX}${own}`)),
  usage: claimUsage,
  isInScope: (claim, scope, operator, values) =>
    scope === 'VolumeAttributesClass' && satisfiesScope(attributesClassesOf(claim), operator, values),
};

/** A claim counts with its request, or with the amount that is reserved while it grows, in whole bytes. */
function claimUsage(claim: PersistentVolumeClaim): Amounts {
  const { spec, status } = claim;
  const usage: Record<string, string> = { persistentvolumeclaims: '1' };
  const className = classOfClaim(claim);
  if (className !== '') usage[`${className}${CLASS_SUFFIX}persistentvolumeclaims`] = '1';
  const asked = spec?.resources?.requests?.['storage'];
  if (asked === undefined) return usage;
  const aside = status?.allocatedResources?.['storage'];
  const storage = wholeUnits(aside !== undefined && compareAmounts(aside, asked) > 0 ? aside : asked);
  usage['requests.storage'] = storage;
  if (className !== '') usage[`${className}${CLASS_SUFFIX}requests.storage`] = storage;
  return usage;
}

function wholeUnits(amount: string): string {
  const milli = quantityMilli(amount);
  return milli % 1000 === 0 ? amount : String(Math.ceil(milli / 1000));
}

/** The volume attributes classes that a claim has, had, or is changing to. */
export function attributesClassesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName ?? '',
    status?.currentVolumeAttributesClassName ?? '',
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName ?? '',
  ];
  return [...new Set(names)].filter((name) => name !== '').sort();
}
