/** HTTPS to webhooks: one caller for admission and for the conversion of custom resources. */
export { cachedServices } from './cached-services.ts';
export { WebhookCallError } from './webhook-call-error.ts';
export { createWebhookCaller, type WebhookCaller, type WebhookConfig } from './webhook-caller.ts';
