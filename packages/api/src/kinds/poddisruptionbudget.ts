import { append } from '@gantry/base';
import { type FieldError, invalid, notSupported } from '../field-error.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { validateConditions } from './rules/conditions.ts';
import { nonNegative } from './rules/errors.ts';
import { validateAtMostAll, validateIntOrPercent } from './rules/int-or-percent.ts';
import { keep } from './rules/keep.ts';
import { validateLabelSelector } from './rules/labels.ts';
import { pathSegment } from './rules/names.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

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
  if (policy !== undefined && !EVICTION_POLICIES.includes(policy)) {
    errors.push(notSupported('spec.unhealthyPodEvictionPolicy', policy, EVICTION_POLICIES));
  }
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

export const podDisruptionBudgets: ResourceDefinition<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  resource: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  categories: [],
  namespaced: true,
  schema: 'policy.v1.PodDisruptionBudget',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: (object) => {
      object.spec ??= {};
    },
    prepareForCreate: (object) => {
      object.status = { ...EMPTY_STATUS };
    },
    prepareForUpdate: (object, old) => {
      keep(object, old, 'status');
    },
    validate,
    // Kubernetes' rules for budgets do not look at the metadata: only those that hold for every object do.
    validateName: pathSegment,
    finalizers: 'qualified',
    metadataOnUpdate: 'driver',
    allowUnconditionalUpdate: false,
    hasGeneration: true,
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        keep(object, old, 'spec');
      },
      validateUpdate: validateStatus,
    },
  ],
  columns: [
    nameColumn,
    column('Min Available', 'Pods that must stay available.', ({ spec }) => String(spec?.minAvailable ?? 'N/A')),
    column('Max Unavailable', 'Pods that may be unavailable.', ({ spec }) => String(spec?.maxUnavailable ?? 'N/A')),
    column('Allowed Disruptions', 'Pods that may be evicted now.', ({ status }) => status?.disruptionsAllowed ?? 0, {
      type: 'integer',
    }),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
