import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject, MutatingWebhook, ValidatingWebhook } from '@gantry/objects';
import type { Access, AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';
import { expressionValues } from '../check/expression-values.ts';
import { refuse } from '../check/refuse.ts';
import { matchNamespace, matchObject, matchRules } from '../check/request-matching.ts';
import { matchConditions } from '../check/match-conditions.ts';

export type Webhook = ValidatingWebhook & Partial<Pick<MutatingWebhook, 'reinvocationPolicy'>>;

/** A webhook with a unique id. */
export interface Hook {
  readonly id: string;
  /** The name of its configuration. */
  readonly configuration: string;
  readonly webhook: Webhook;
}

/** The webhooks of all configurations, sorted by name of the configuration, then in their order. */
export function hooksOf(configurations: readonly (KubeObject & { webhooks?: Webhook[] })[]): readonly Hook[] {
  const byName = (a: KubeObject, b: KubeObject) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1);
  return [...configurations].sort(byName).flatMap(({ metadata, webhooks = [] }) =>
    numbered(webhooks).map(({ webhook, before }) => ({
      id: `${metadata.name ?? ''}/${webhook.name}/${before}`,
      configuration: metadata.name ?? '',
      webhook,
    })),
  );
}

/** Each webhook with the number of earlier webhooks of the same name. */
function numbered(webhooks: readonly Webhook[]): readonly { readonly webhook: Webhook; readonly before: number }[] {
  const counts = new Map<string, number>();
  return webhooks.map((webhook) => {
    const before = counts.get(webhook.name) ?? 0;
    counts.set(webhook.name, before + 1);
    return { webhook, before };
  });
}

/** The version in which a webhook matches a request; undefined when it does not match. */
export async function wanted(
  { webhook }: Hook,
  request: AdmissionRequest,
  reader: AdmissionReader,
  access: Access,
): Promise<ResourceDefinition | undefined> {
  const as = matchRules(request, webhook, reader.served);
  if (as === undefined) return undefined;
  if (!(await matchNamespace(webhook.namespaceSelector, request, reader))) return undefined;
  if (!matchObject(webhook.objectSelector, request)) return undefined;
  const { matchConditions: conditions = [], failurePolicy } = webhook;
  if (conditions.length === 0) return as;
  const values = await expressionValues(request, as, reader, access);
  const matched = await request.compute(matchConditions(conditions, values, failurePolicy));
  if ('error' in matched) throw refuse(request, matched.error);
  return matched.matches ? as : undefined;
}
