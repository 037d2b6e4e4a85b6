import { append } from '@gantry/base';
import {
  type FieldError,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  type PodDisruptionBudgetSpec,
  invalid,
  pathSegment,
  oneOf,
} from '@gantry/objects';
import {
  ageColumn,
  column,
  defineResource,
  nameColumn,
  nonNegative,
  validateLabelSelector,
} from '@gantry/apimachinery';
import { validateConditions } from '../fields/conditions.ts';
import { validateAtMostAll, validateIntOrPercent } from '../fields/int-or-percent.ts';
import { statusSubresource, keepStatus } from '../fields/status.ts';

const EVICTION_POLICIES = ['AlwaysAllow', 'IfHealthyBudget'];
const STATUS_COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;
const EMPTY_STATUS = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };

function validate({ spec = {} }: PodDisruptionBudget): FieldError[] {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = spec;
  const errors: FieldError[] = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    errors.push(invalid('spec', printed(spec), 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    const value = spec[field];
    if (value === undefined) continue;
    append(errors, [...validateIntOrPercent(value, `spec.${field}`), ...validateAtMostAll(value, `spec.${field}`)]);
  }
  append(errors, validateLabelSelector(spec.selector, 'spec.selector'));
  append(errors, oneOf('spec.unhealthyPodEvictionPolicy', policy, EVICTION_POLICIES));
  return errors;
}

/** As Kubernetes prints it in messages. */
function printed({ minAvailable, selector, maxUnavailable, unhealthyPodEvictionPolicy }: PodDisruptionBudgetSpec) {
  return {
    MinAvailable: minAvailable ?? null,
    Selector: selector ?? null,
    MaxUnavailable: maxUnavailable ?? null,
    UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
  };
}

function validateStatus({ status }: PodDisruptionBudget): FieldError[] {
  return [
    ...validateConditions(status?.conditions, 'status.conditions'),
    ...STATUS_COUNTS.flatMap((field) => nonNegative(`status.${field}`, status?.[field])),
  ];
}

export const podDisruptionBudgets = defineResource(POD_DISRUPTION_BUDGETS, {
  shortNames: ['pdb'],
  schema: 'policy.v1.PodDisruptionBudget',
  strategy: {
    applyDefaults: (object) => {
      object.spec ??= {};
    },
    prepareForCreate: (object) => {
      object.status = { ...EMPTY_STATUS };
    },
    prepareForUpdate: keepStatus,
    validate,
    // Kubernetes' rules for budgets do not check metadata; only the common rules do.
    validateName: pathSegment,
    finalizers: 'qualified',
    metadataOnUpdate: 'common',
    allowUnconditionalUpdate: false,
    hasGeneration: true,
  },
  subresources: [statusSubresource(validateStatus)],
  columns: [
    nameColumn,
    column('Min Available', 'The minimum number of pods that must be available.', ({ spec }) =>
      String(spec?.minAvailable ?? 'N/A'),
    ),
    column('Max Unavailable', 'The maximum number of pods that may be unavailable.', ({ spec }) =>
      String(spec?.maxUnavailable ?? 'N/A'),
    ),
    column(
      'Allowed Disruptions',
      'Calculated number of pods that may be disrupted at this time.',
      ({ status }) => status?.disruptionsAllowed ?? 0,
      {
        type: 'integer',
      },
    ),
    ageColumn,
  ],
});
