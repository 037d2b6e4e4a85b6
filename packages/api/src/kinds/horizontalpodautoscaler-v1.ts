import type {
  AutoscalingHorizontalPodAutoscaler as AutoscalerV1,
  HorizontalPodAutoscaler as AutoscalerV2,
} from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { applyAutoscalerDefaults } from './horizontalpodautoscaler.ts';
import { autoscalerColumns } from './rules/autoscaler-columns.ts';
import { CARRIED, toV1, toV2 } from './rules/autoscaler-conversion.ts';
import { validateAutoscaler, validateAutoscalerStatus } from './rules/autoscaler-spec.ts';
import { keep } from './rules/keep.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

/** What the stored version holds of it, with its defaults. */
function stored(object: AutoscalerV1): AutoscalerV2 {
  const converted = toV2(object);
  applyAutoscalerDefaults(converted);
  return converted;
}

/** An object is answered as it comes back from the stored form, be it stored or not. */
function applyDefaults(object: AutoscalerV1): void {
  object.spec ??= { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } };
  object.spec.minReplicas ??= 1;
  const { metadata, spec, status } = toV1(toV2(object));
  if (metadata.annotations === undefined) delete object.metadata.annotations;
  else object.metadata.annotations = metadata.annotations;
  object.spec = spec;
  if (object.status !== undefined && status !== undefined) object.status = status;
}

export const horizontalPodAutoscalersV1: ResourceDefinition<AutoscalerV1> = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  namespaced: true,
  schema: 'autoscaling.v1.HorizontalPodAutoscaler',
  storage: {
    group: 'autoscaling',
    version: 'v2',
    resource: 'horizontalpodautoscalers',
    toStored: stored,
    fromStored: (object) => toV1(object as AutoscalerV2),
  },
  verbs: STORED_VERBS,
  fieldAnnotations: CARRIED,
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { currentReplicas: 0, desiredReplicas: 0 };
    },
    prepareForUpdate: (object, old) => {
      keep(object, old, 'status');
    },
    validateCreate: (object) => validateAutoscaler(toV2(object)),
    validateUpdate: (object, old) => validateAutoscaler(toV2(object), toV2(old)),
    metadataOnUpdate: 'change',
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        keep(object, old, 'spec');
      },
      validateUpdate: (object) => validateAutoscalerStatus(toV2(object)),
    },
  ],
  columns: autoscalerColumns(toV2),
  selectableFields: {},
  stored: true,
};
