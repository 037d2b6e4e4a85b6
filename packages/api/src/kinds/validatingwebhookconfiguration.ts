import type { ValidatingWebhookConfiguration } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { ADMISSION_GROUP, staticSuffixWarnings } from './rules/admission-match.ts';
import { defaultWebhook, validateChangedWebhooks, validateNewWebhooks } from './rules/admission-webhooks.ts';
import { STORED_VERBS } from './verbs.ts';

export const validatingWebhookConfigurations: ResourceDefinition<ValidatingWebhookConfiguration> = {
  group: ADMISSION_GROUP,
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  resource: 'validatingwebhookconfigurations',
  singular: 'validatingwebhookconfiguration',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'admissionregistration.v1.ValidatingWebhookConfiguration',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: ({ webhooks }) => {
      for (const webhook of webhooks ?? []) defaultWebhook(webhook);
    },
    validateCreate: ({ webhooks }) => validateNewWebhooks(webhooks),
    validateUpdate: ({ webhooks }, old) => validateChangedWebhooks(webhooks, old.webhooks),
    finalizers: 'qualified',
    metadataOnUpdate: 'object',
    warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
    allowUnconditionalUpdate: false,
    hasGeneration: true,
  },
  subresources: [],
  columns: [
    nameColumn,
    column('Webhooks', 'How many webhooks are configured here.', ({ webhooks }) => webhooks?.length ?? 0, {
      type: 'integer',
    }),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
