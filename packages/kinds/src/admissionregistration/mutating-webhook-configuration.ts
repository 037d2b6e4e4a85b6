import { MUTATING_WEBHOOK_CONFIGURATIONS } from '@gantry/objects';
import { ageColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { admissionConfiguration, webhooksColumn } from './admission-configuration.ts';
import { defaultWebhook, validateChangedWebhooks, validateNewWebhooks } from './webhooks.ts';

export const mutatingWebhookConfigurations = defineResource(MUTATING_WEBHOOK_CONFIGURATIONS, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.MutatingWebhookConfiguration',
  strategy: {
    ...admissionConfiguration,
    applyDefaults: ({ webhooks }) => {
      for (const webhook of webhooks ?? []) {
        defaultWebhook(webhook);
        webhook.reinvocationPolicy ??= 'Never';
      }
    },
    validateCreate: ({ webhooks }) => validateNewWebhooks(webhooks),
    validateUpdate: ({ webhooks }, old) => validateChangedWebhooks(webhooks, old.webhooks),
  },
  columns: [nameColumn, webhooksColumn, ageColumn],
});
