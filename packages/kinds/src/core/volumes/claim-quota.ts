import type { QuotaUsage } from '@gantry/apimachinery';
import { classOfClaim, type PersistentVolumeClaim, quantityMilli } from '@gantry/objects';
import { type Amounts, compareAmounts, satisfiesScope } from '../../fields/quota.ts';

const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';
const CLAIM_NAMES = ['persistentvolumeclaims', 'requests.storage'];

/** Claims count by number and by requested storage, in total and by storage class. */
export const claimQuota: QuotaUsage<PersistentVolumeClaim> = {
  limits: (name) => CLAIM_NAMES.some((own) => name === own || name.endsWith(`${CLASS_SUFFIX}${own}`)),
  usage: claimUsage,
  isInScope: (claim, scope, operator, values) =>
    scope === 'VolumeAttributesClass' && satisfiesScope(attributesClassesOf(claim), operator, values),
};

/** A claim takes what it asks for, or what is set aside for it while it grows, in whole bytes. */
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

/** The classes of volume attributes that a claim has, had, or is on its way to. */
export function attributesClassesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName ?? '',
    status?.currentVolumeAttributesClassName ?? '',
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName ?? '',
  ];
  return [...new Set(names)].filter((name) => name !== '').sort();
}
