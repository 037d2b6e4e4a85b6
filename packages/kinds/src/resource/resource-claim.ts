import { equalJson, type FieldError, invalid, RESOURCE_CLAIMS, type ResourceResourceClaim } from '@gantry/objects';
import {
  ageColumn,
  column,
  defineResource,
  IMMUTABLE,
  METADATA_AND_SPEC,
  nameColumn,
  PART_VERBS,
  type QuotaUsage,
} from '@gantry/apimachinery';
import { defaultClaimSpec, validateClaimSpec } from './device-claim.ts';
import { deviceKey, validateClaimStatus } from './device-status.ts';
import { addAmounts, type Amounts } from '../fields/quota.ts';

const DEVICES_SUFFIX = '.deviceclass.resource.k8s.io/devices';
/** The number of devices that a request for all devices counts as. */
const ALL_DEVICES = 32;

/** Quotas count resource claims by devices of each class. */
const deviceQuota: QuotaUsage<ResourceResourceClaim> = {
  limits: (name) => name.endsWith(DEVICES_SUFFIX),
  usage: deviceUsage,
};

/** The number of devices per class; of alternatives, the maximum per class. */
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

function validateUpdate({ spec }: ResourceResourceClaim, old: ResourceResourceClaim): FieldError[] {
  return equalJson(spec, old.spec) ? [] : [invalid('spec', spec, IMMUTABLE)];
}

/** A status update changes only the status. Device statuses of drivers are removed when the claim is deallocated. */
function prepareStatus(object: ResourceResourceClaim, old: ResourceResourceClaim): void {
  object.spec = old.spec;
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    const value = old.metadata[field];
    if (value === undefined) delete object.metadata[field];
    else Object.assign(object.metadata, { [field]: value });
  }
  const { status } = object;
  if (status?.devices === undefined) return;
  const kept = new Set((status.allocation?.devices?.results ?? []).map(deviceKey));
  const given = new Set((old.status?.allocation?.devices?.results ?? []).map(deviceKey));
  const devices = status.devices.filter((device) => kept.has(deviceKey(device)) || !given.has(deviceKey(device)));
  if (devices.length === 0) delete status.devices;
  else status.devices = devices;
}

function stateOf({ metadata, status }: ResourceResourceClaim): string {
  const deleted = metadata.deletionTimestamp !== undefined;
  const states = deleted ? ['deleted'] : [];
  if (status?.allocation === undefined) {
    if (!deleted) states.push('pending');
  } else {
    states.push('allocated');
    if ((status.reservedFor ?? []).length > 0) states.push('reserved');
  }
  return states.join(',');
}

export const resourceClaims = defineResource(RESOURCE_CLAIMS, {
  schema: 'resource.v1.ResourceClaim',
  strategy: {
    deletionResponse: 'object',
    applyDefaults: ({ spec }) => defaultClaimSpec(spec),
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: (object, old) => {
      object.status = old.status ?? {};
    },
    metadataOnUpdate: 'whole first',
    validateCreate: ({ spec }) => validateClaimSpec(spec, 'spec'),
    validateUpdate,
  },
  subresources: [
    {
      name: 'status',
      resetFields: METADATA_AND_SPEC,
      verbs: PART_VERBS,
      prepareForUpdate: prepareStatus,
      validateUpdate: validateClaimStatus,
    },
  ],
  quota: deviceQuota,
  columns: [
    nameColumn,
    column('State', 'A summary of the current state (allocated, pending, reserved, etc.).', stateOf),
    ageColumn,
  ],
});
