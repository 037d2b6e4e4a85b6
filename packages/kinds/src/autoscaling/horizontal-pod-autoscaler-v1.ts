import {
  AUTOSCALING_HORIZONTAL_POD_AUTOSCALERS,
  type AutoscalingHorizontalPodAutoscaler as AutoscalerV1,
  type HorizontalPodAutoscaler as AutoscalerV2,
} from '@gantry/objects';
import { defineResource } from '@gantry/apimachinery';
import { applyAutoscalerDefaults } from './horizontal-pod-autoscaler.ts';
import { autoscalerColumns } from './columns.ts';
import { CARRIED, toV1, toV2 } from './conversion.ts';
import { validateAutoscaler, validateAutoscalerStatus } from './spec.ts';
import { statusSubresource, keepStatus } from '../fields/status.ts';

/** The object in the stored version, with that version's defaults. */
function stored(object: AutoscalerV1): AutoscalerV2 {
  const converted = toV2(object);
  applyAutoscalerDefaults(converted);
  return converted;
}

/** An object is returned as it converts back from the stored version, whether it is stored or not. */
function applyDefaults(object: AutoscalerV1): void {
  object.spec ??= { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } };
  object.spec.minReplicas ??= 1;
  const { metadata, spec, status } = toV1(toV2(object));
  if (metadata.annotations === undefined) delete object.metadata.annotations;
  else object.metadata.annotations = metadata.annotations;
  object.spec = spec;
  if (object.status !== undefined && status !== undefined) object.status = status;
}

export const horizontalPodAutoscalersV1 = defineResource(AUTOSCALING_HORIZONTAL_POD_AUTOSCALERS, {
  shortNames: ['hpa'],
  categories: ['all'],
  schema: 'autoscaling.v1.HorizontalPodAutoscaler',
  storage: {
    group: 'autoscaling',
    version: 'v2',
    resource: 'horizontalpodautoscalers',
    toStored: stored,
    toStoredBare: toV2,
    fromStored: (object) => toV1(object as AutoscalerV2),
  },
  fieldAnnotations: CARRIED,
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { currentReplicas: 0, desiredReplicas: 0 };
    },
    prepareForUpdate: keepStatus,
    validateCreate: (object) => validateAutoscaler(toV2(object)),
    validateUpdate: (object, old) => validateAutoscaler(toV2(object), toV2(old)),
    metadataOnUpdate: 'change',
  },
  subresources: [statusSubresource((object) => validateAutoscalerStatus(toV2(object)))],
  columns: autoscalerColumns(toV2),
});
