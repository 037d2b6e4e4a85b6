import { append } from '@gantry/base';
import { type FieldError, LEASES, type Lease, invalid } from '@gantry/objects';
import { ageColumn, defineResource, nameColumn, nonNegative, fieldColumn } from '@gantry/apimachinery';

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

/** Coordinated leader election is off in Kubernetes, so its fields are dropped. */
function prepareForCreate({ spec }: Lease): void {
  delete spec?.strategy;
  delete spec?.preferredHolder;
}

function prepareForUpdate({ spec }: Lease, old: Lease): void {
  if (old.spec?.strategy === undefined) delete spec?.strategy;
  if (old.spec?.preferredHolder === undefined) delete spec?.preferredHolder;
}

export const leases = defineResource(LEASES, {
  schema: 'coordination.v1.Lease',
  strategy: {
    prepareForCreate,
    prepareForUpdate,
    validate,
    finalizers: 'qualified',
    metadataOnUpdate: 'change',
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
  },
  columns: [nameColumn, fieldColumn('Holder', 'coordination.v1.LeaseSpec', 'spec.holderIdentity'), ageColumn],
});
