import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '@gantry/objects';
import { ageColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { admissionConfiguration, webhooksColumn } from './admission-configuration.ts';
import { defaultWebhook, validateChangedWebhooks, validateNewWebhooks } from './webhooks.ts';

export const validatingWebhookConfigurations = defineResource(VALIDATING_WEBHOOK_CONFIGURATIONS, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.ValidatingWebhookConfiguration',
  strategy: {
    ...admissionConfiguration,
    applyDefaults: ({ webhooks }) => {
      for (const webhook of webhooks ?? []) defaultWebhook(webhook);
    },
    validateCreate: ({ webhooks }) => validateNewWebhooks(webhooks),
    validateUpdate: ({ webhooks }, old) => validateChangedWebhooks(webhooks, old.webhooks),
  },
  columns: [nameColumn, webhooksColumn, ageColumn],
});
