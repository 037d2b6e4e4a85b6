import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '@gantry/objects';
import { ageColumn, column, defineResource, nameColumn } from '@gantry/apimachinery';
import { staticSuffixWarnings } from './match-resources.ts';
import { defaultWebhook, validateChangedWebhooks, validateNewWebhooks } from './webhooks.ts';

export const validatingWebhookConfigurations = defineResource(VALIDATING_WEBHOOK_CONFIGURATIONS, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.ValidatingWebhookConfiguration',
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
  columns: [
    nameColumn,
    column(
      'Webhooks',
      'Webhooks indicates the number of webhooks registered in this configuration',
      ({ webhooks }) => webhooks?.length ?? 0,
      {
        type: 'integer',
      },
    ),
    ageColumn,
  ],
});
