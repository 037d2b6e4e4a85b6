import type { ResourceDefinition } from '@gantry/apimachinery';
import type { ValidatingWebhookConfiguration } from '@gantry/objects';
import type { AdmissionCheck } from '../check/admission-check.ts';
import { isExempt } from '../check/request-matching.ts';
import { askWebhook, type WebhookDependencies } from './ask-webhook.ts';
import { type Hook, hooksOf, wanted } from './webhook-list.ts';

const CONFIGURATIONS = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
};

/** The check of validating webhooks. They are called concurrently. The first denial that arrives is the error. */
export function validatingWebhooks(dependencies: WebhookDependencies): AdmissionCheck {
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: async (request, reader) => {
      if (isExempt(request)) return;
      const hooks = hooksOf(await reader.list<ValidatingWebhookConfiguration>(CONFIGURATIONS, ''));
      const relevant: { readonly hook: Hook; readonly as: ResourceDefinition }[] = [];
      for (const hook of hooks) {
        const as = await wanted(hook, request, reader, dependencies.access);
        if (as !== undefined) relevant.push({ hook, as });
      }
      // Wait for all webhooks, so that no call continues after the end of the request.
      let first: { readonly error: unknown } | undefined;
      await Promise.all(
        relevant.map(async ({ hook, as }, index) => {
          try {
            const at = `round_0_index_${index}` as const;
            await askWebhook(hook.webhook, 'validating', request, as, { ...dependencies, at });
          } catch (error) {
            first ??= { error };
          }
        }),
      );
      if (first !== undefined) throw first.error;
    },
  };
}
