import { type WebhookCaller, WebhookCallError } from '@gantry/apiserver/testing';
import { errorMessage } from '@gantry/base';
import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition, type KubeObject } from '@gantry/objects';
import { type OperatorOptions, webhookManifests } from '../index.ts';
import { answerReview, webhookEndpoints } from '../webhooks/reviews.ts';

/** The webhooks of an operator as a simulated API server calls them. */
export interface CalledWebhooks {
  readonly caller: WebhookCaller;
  readonly configurations: readonly KubeObject[];
  /** The definitions that convert by webhook, by name. */
  readonly definitions: ReadonlyMap<string, CustomResourceDefinition>;
}

/** The webhooks of an operator, called in this process. They always answer, as those of other replicas do. Undefined when it has none. */
export function calledWebhooks({
  name,
  webhooks,
}: Pick<OperatorOptions, 'name' | 'webhooks'>): CalledWebhooks | undefined {
  if (webhooks === undefined) return undefined;
  const { admission = [], conversions = [] } = webhooks;
  const manifests = webhookManifests({ name, webhooks: { admission, conversions } }, { namespace: 'default' });
  const endpoints = webhookEndpoints(webhooks);
  const post: WebhookCaller['post'] = async ({ config, body, signal }) => {
    const path = config.service?.path ?? '';
    const endpoint = endpoints.get(path);
    if (endpoint === undefined) throw new WebhookCallError(`no webhook at ${JSON.stringify(path)}`);
    try {
      // As over HTTPS: nothing is shared.
      return JSON.parse(JSON.stringify(await answerReview(endpoint, structuredClone(body), signal))) as unknown;
    } catch (error) {
      signal.throwIfAborted();
      throw new WebhookCallError(errorMessage(error), { cause: error });
    }
  };
  const definitions = manifests.filter(
    (one): one is CustomResourceDefinition => one.kind === CUSTOM_RESOURCE_DEFINITIONS.kind,
  );
  return {
    caller: { post, close: () => undefined },
    configurations: manifests.filter(({ kind }) => kind.endsWith('WebhookConfiguration')),
    definitions: new Map(definitions.map((one) => [one.metadata.name ?? '', one])),
  };
}
