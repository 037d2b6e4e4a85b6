import { type FieldError, invalid } from '../field-error.ts';
import type { ResourceResourceClaim } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { defaultClaimSpec, validateClaimSpec } from './rules/device-claim.ts';
import { deviceKey, validateClaimStatus } from './rules/device-status.ts';
import { IMMUTABLE } from './rules/errors.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

function validateUpdate({ spec }: ResourceResourceClaim, old: ResourceResourceClaim): FieldError[] {
  return equalJson(spec, old.spec) ? [] : [invalid('spec', spec, IMMUTABLE)];
}

/** Through the status only the status changes, and what drivers said of devices goes when the claim gives those back. */
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
  const given = (old.status?.allocation?.devices?.results ?? []).map(deviceKey).filter((key) => !kept.has(key));
  const devices = status.devices.filter((device) => !given.includes(deviceKey(device)));
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

export const resourceClaims: ResourceDefinition<ResourceResourceClaim> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaim',
  resource: 'resourceclaims',
  singular: 'resourceclaim',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'resource.v1.ResourceClaim',
  verbs: STORED_VERBS,
  strategy: {
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
    { name: 'status', verbs: PART_VERBS, prepareForUpdate: prepareStatus, validateUpdate: validateClaimStatus },
  ],
  columns: [nameColumn, column('State', 'Whether it has been given what it asks for.', stateOf), ageColumn],
  selectableFields: {},
  stored: true,
};
