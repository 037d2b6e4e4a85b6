import { givenEmpty } from '../decode/given-empty.ts';
import type { HorizontalPodAutoscaler, HPAScalingRules } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { autoscalerColumns } from './rules/autoscaler-columns.ts';
import { cpuMetric } from './rules/autoscaler-conversion.ts';
import { validateAutoscaler, validateAutoscalerStatus } from './rules/autoscaler-spec.ts';
import { keep } from './rules/keep.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

const UP: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const DOWN: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

/** Defaults of the stored version, which the older one comes to when it is stored. */
export function applyAutoscalerDefaults(object: HorizontalPodAutoscaler): void {
  const spec = (object.spec ??= { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } });
  spec.minReplicas ??= 1;
  if ((spec.metrics ?? []).length === 0) spec.metrics = [cpuMetric()];
  if (spec.behavior === undefined) return;
  spec.behavior.scaleUp = withDefaults(spec.behavior.scaleUp, UP);
  spec.behavior.scaleDown = withDefaults(spec.behavior.scaleDown, DOWN);
}

function withDefaults(rules: HPAScalingRules | undefined, defaults: HPAScalingRules): HPAScalingRules {
  const copied = { ...defaults, policies: (defaults.policies ?? []).map((policy) => ({ ...policy })) };
  // An empty list is what was asked for, and refused.
  if (rules !== undefined && givenEmpty(rules, 'policies') !== undefined) return { ...copied, ...rules, policies: [] };
  return { ...copied, ...rules };
}

export const horizontalPodAutoscalers: ResourceDefinition<HorizontalPodAutoscaler> = {
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  namespaced: true,
  schema: 'autoscaling.v2.HorizontalPodAutoscaler',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: applyAutoscalerDefaults,
    prepareForCreate: (object) => {
      object.status = { desiredReplicas: 0 };
    },
    prepareForUpdate: (object, old) => {
      keep(object, old, 'status');
    },
    validateCreate: (object) => validateAutoscaler(object),
    validateUpdate: validateAutoscaler,
    metadataOnUpdate: 'change',
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        keep(object, old, 'spec');
      },
      validateUpdate: validateAutoscalerStatus,
    },
  ],
  columns: autoscalerColumns((object) => object),
  selectableFields: {},
  stored: true,
};
