/** HTTPS calls of webhooks, for admission and for the conversion of custom resources. */
export { cachedServices, resolveService, type ServiceObjects } from './resolve-service.ts';
export { transportError, WebhookCallError } from './webhook-call-error.ts';
export { createWebhookCaller, type WebhookCaller, type WebhookConfig } from './webhook-caller.ts';
