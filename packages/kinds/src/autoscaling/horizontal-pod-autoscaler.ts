import { defineResource, givenEmpty } from '@gantry/apimachinery';
import { HORIZONTAL_POD_AUTOSCALERS, type HPAScalingRules, type HorizontalPodAutoscaler } from '@gantry/objects';
import { autoscalerColumns } from './columns.ts';
import { cpuMetric } from './conversion.ts';
import { validateAutoscaler, validateAutoscalerStatus } from './spec.ts';
import { statusSubresource, keepStatus } from '../fields/status.ts';

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

/** Defaults of the stored version. An object of the older version gets them when it is stored. */
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
  // An empty list was given explicitly and is rejected later.
  if (rules !== undefined && givenEmpty(rules, 'policies') !== undefined) return { ...copied, ...rules, policies: [] };
  return { ...copied, ...rules };
}

export const horizontalPodAutoscalers = defineResource(HORIZONTAL_POD_AUTOSCALERS, {
  shortNames: ['hpa'],
  categories: ['all'],
  schema: 'autoscaling.v2.HorizontalPodAutoscaler',
  strategy: {
    applyDefaults: applyAutoscalerDefaults,
    prepareForCreate: (object) => {
      object.status = { desiredReplicas: 0 };
    },
    prepareForUpdate: keepStatus,
    validateCreate: (object) => validateAutoscaler(object),
    validateUpdate: validateAutoscaler,
    metadataOnUpdate: 'change',
  },
  subresources: [statusSubresource(validateAutoscalerStatus)],
  columns: autoscalerColumns((object) => object),
});
