import {
  type FieldError,
  RESOURCE_CLAIM_TEMPLATES,
  type ResourceClaimTemplate,
  equalJson,
  invalid,
} from '@gantry/objects';
import {
  IMMUTABLE,
  ageColumn,
  defineResource,
  nameColumn,
  validateAnnotations,
  validateLabels,
} from '@gantry/apimachinery';
import { defaultClaimSpec, validateClaimSpec } from './device-claim.ts';

function validateCreate({ spec }: ResourceClaimTemplate): FieldError[] {
  const { labels, annotations } = spec?.metadata ?? {};
  return [
    ...validateAnnotations(annotations, 'spec.metadata.annotations'),
    ...validateLabels(labels, 'spec.metadata.labels'),
    ...validateClaimSpec(spec?.spec, 'spec.spec'),
  ];
}

export const resourceClaimTemplates = defineResource(RESOURCE_CLAIM_TEMPLATES, {
  schema: 'resource.v1.ResourceClaimTemplate',
  strategy: {
    applyDefaults: ({ spec }) => defaultClaimSpec(spec?.spec),
    validateCreate,
    validateUpdate: ({ spec }, old) => (equalJson(spec, old.spec) ? [] : [invalid('spec', spec, IMMUTABLE)]),
    metadataOnUpdate: 'change',
  },
  columns: [nameColumn, ageColumn],
});
