import { append } from '@gantry/base';
import { type FieldError, invalid } from '../field-error.ts';
import type { Lease } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { nonNegative } from './rules/errors.ts';
import { STORED_VERBS } from './verbs.ts';

function validate(object: Lease): FieldError[] {
  const errors: FieldError[] = [];
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = object.spec ?? {};
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'));
  }
  append(errors, nonNegative('spec.leaseTransitions', leaseTransitions));
  if (preferredHolder !== undefined && preferredHolder !== '' && (strategy ?? '') === '') {
    errors.push({
      type: 'FieldValueForbidden',
      field: 'spec.preferredHolder',
      detail: 'may only be specified if `strategy` is defined',
    });
  }
  return errors;
}

/** Coordinated elections are off in Kubernetes, and what only they use is dropped. */
function prepareForCreate({ spec }: Lease): void {
  delete spec?.strategy;
  delete spec?.preferredHolder;
}

function prepareForUpdate({ spec }: Lease, old: Lease): void {
  if (old.spec?.strategy === undefined) delete spec?.strategy;
  if (old.spec?.preferredHolder === undefined) delete spec?.preferredHolder;
}

export const leases: ResourceDefinition<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  resource: 'leases',
  singular: 'lease',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'coordination.v1.Lease',
  verbs: STORED_VERBS,
  strategy: {
    prepareForCreate,
    prepareForUpdate,
    validate,
    finalizers: 'qualified',
    metadataOnUpdate: 'change',
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
  },
  subresources: [],
  columns: [
    nameColumn,
    column('Holder', 'Who holds the lease.', (object) => object.spec?.holderIdentity ?? ''),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
