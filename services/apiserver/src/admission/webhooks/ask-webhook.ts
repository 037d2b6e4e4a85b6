import type { ResourceDefinition } from '@gantry/apimachinery';
import { type KubeObject, type Status, StatusError, type StatusReason } from '@gantry/objects';
import type { NewUid } from '@gantry/base';
import { type WebhookCaller, WebhookCallError } from '../../webhooks/index.ts';
import type { Access, AdmissionRequest } from '../check/admission-check.ts';
import { convertObject } from '../check/request-matching.ts';
import { admissionReview, readReview, type ReviewResponse } from './admission-review.ts';
import type { Webhook } from './webhook-list.ts';

export interface WebhookDependencies {
  readonly caller: WebhookCaller;
  readonly newUid: NewUid;
  readonly access: Access;
}

/** Round and index of a webhook call, in the form of Kubernetes' audit annotations. */
export type WebhookTurn = `round_${number}_index_${number}`;

/** The names of the two webhook types in audit annotations. */
const PHASES = { mutating: 'mutation', validating: 'validating' } as const;

const DEFAULT_TIMEOUT_SECONDS = 10;
const HARMLESS = ['None', 'NoneOnDryRun'];

/**
 * Calls a webhook. If the call fails, returns undefined with failurePolicy Ignore, and throws a StatusError with Fail. Throws a
 * StatusError when the webhook denies the request.
 */
export async function askWebhook(
  webhook: Webhook,
  type: 'mutating' | 'validating',
  request: AdmissionRequest,
  as: ResourceDefinition,
  { caller, newUid, at }: Pick<WebhookDependencies, 'caller' | 'newUid'> & { readonly at: WebhookTurn },
): Promise<ReviewResponse | undefined> {
  if (request.dryRun && !HARMLESS.includes(webhook.sideEffects)) throw dryRunUnsupported(webhook.name);
  try {
    if (!webhook.admissionReviewVersions.includes('v1')) {
      const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
      throw new WebhookCallError(`could not create admission objects: ${why}`);
    }
    const uid = newUid();
    const body = admissionReview(uid, request, as, await shownObjects(request, as));
    const answer = await called(() =>
      caller.post({
        config: webhook.clientConfig,
        body,
        timeoutMs: (webhook.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
        signal: request.signal,
      }),
    );
    const read = readReview(answer, uid, type);
    for (const warning of read.warnings) request.warn(warning);
    for (const [key, value] of Object.entries(read.auditAnnotations)) {
      request.annotate(`${webhook.name}/${key}`, value);
    }
    if (!read.allowed) throw denial(webhook.name, read.status);
    return read;
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error;
    if (webhook.failurePolicy !== 'Ignore') throw failure(webhook.name, error.message);
    request.annotate(`failed-open.${PHASES[type]}.webhook.admission.k8s.io/${at}`, webhook.name);
    return undefined;
  }
}

/** The error of a request when the call of a required webhook fails. */
export function failure(webhook: string, why: string): StatusError {
  return StatusError.internal(`failed calling webhook ${JSON.stringify(webhook)}: ${why}`);
}

async function called(post: () => Promise<unknown>): Promise<unknown> {
  try {
    return await post();
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error;
    throw new WebhookCallError(`failed to call webhook: ${error.message}`, { cause: error });
  }
}

/** The objects in the version of the webhook. A delete has only an old object. */
async function shownObjects(
  request: AdmissionRequest,
  as: ResourceDefinition,
): Promise<{ object: KubeObject | null; oldObject: KubeObject | null }> {
  const { definition, kind, operation, object, old } = request;
  const own = kind.kind === definition.kind && kind.group === definition.group;
  const show = (one: KubeObject | undefined): Promise<KubeObject | null> | null => {
    if (one === undefined) return null;
    return own ? convertObject(one, definition, as) : Promise.resolve(one);
  };
  return { object: operation === 'delete' ? null : await show(object), oldObject: await show(old) };
}

/** The error of a request that a webhook has denied, with the message of the webhook. */
function denial(webhook: string, status: Partial<Status> | undefined): StatusError {
  const { message = '', reason = '', code = 0, details } = status ?? {};
  const head = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = message === '' ? reason : message;
  // A webhook may use its own reasons.
  return new StatusError(reason as StatusReason | '', why === '' ? `${head} without explanation` : `${head}: ${why}`, {
    code: code < 400 ? 400 : code,
    details,
  });
}

/** The error of a dry run when a webhook has side effects. */
function dryRunUnsupported(webhook: string): StatusError {
  return StatusError.badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);
}
