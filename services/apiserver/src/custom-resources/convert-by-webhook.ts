import { type ConvertRemotely, type CustomResourceDefinition, type KubeObject, StatusError } from '@gantry/api';
import { errorMessage, type NewUid } from '@gantry/base';
import type { WebhookCaller, WebhookConfig } from '../webhook-client/index.ts';

const TIMEOUT_MS = 30_000;
const KNOWN_VERSIONS: readonly string[] = ['v1', 'v1beta1'];

interface Review {
  readonly response?: {
    readonly uid?: string;
    readonly convertedObjects?: readonly KubeObject[];
    readonly result?: { readonly status?: string; readonly message?: string };
  };
}

/** Conversion by the webhook that a definition names. */
export function convertByWebhook(
  crd: CustomResourceDefinition,
  deps: { readonly caller: WebhookCaller; readonly newUid: NewUid },
): ConvertRemotely {
  const webhook = crd.spec.conversion?.webhook;
  const reviewVersion = (webhook?.conversionReviewVersions ?? []).find((one) => KNOWN_VERSIONS.includes(one)) ?? 'v1';
  return async (objects, apiVersion) => {
    const uid = deps.newUid();
    const from = objects[0]?.apiVersion ?? '';
    const { kind } = crd.spec.names;
    const failed = (why: string): StatusError =>
      new StatusError('InternalError', `conversion webhook for ${from}, Kind=${kind} failed: ${why}`, { details: {} });
    const body = {
      kind: 'ConversionReview',
      apiVersion: `apiextensions.k8s.io/${reviewVersion}`,
      request: { uid, desiredAPIVersion: apiVersion, objects },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    };
    let review: Review;
    try {
      const config = (webhook?.clientConfig ?? {}) as WebhookConfig;
      review = (await deps.caller.post({
        config,
        body,
        timeoutMs: TIMEOUT_MS,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })) as Review;
    } catch (error) {
      throw failed(errorMessage(error));
    }
    return readReview(review, { uid, apiVersion, objects, failed, reviewVersion });
  };
}

function readReview(
  { response }: Review,
  asked: {
    readonly uid: string;
    readonly apiVersion: string;
    readonly objects: readonly KubeObject[];
    readonly failed: (why: string) => StatusError;
    readonly reviewVersion: string;
  },
): readonly KubeObject[] {
  const { uid, apiVersion, objects, failed } = asked;
  if (response === undefined) throw failed('response.uid="" does not match request.uid');
  if (response.uid !== uid) throw failed(`expected response.uid="${uid}", got "${response.uid ?? ''}"`);
  const { status = '', message = '' } = response.result ?? {};
  if (status !== 'Success')
    throw failed(message === '' ? `response.result.status was '${status}', not 'Success'` : message);
  const converted = response.convertedObjects ?? [];
  if (converted.length !== objects.length) {
    throw failed(`returned ${converted.length} objects, expected ${objects.length}`);
  }
  return converted.map((object, i) => {
    const original = objects[i];
    const at = objects.length === 1 ? '' : ` at index ${i}`;
    if (object.apiVersion !== apiVersion) {
      throw failed(
        `returned invalid converted object${at}: invalid groupVersion (expected ${apiVersion}, received ${object.apiVersion})`,
      );
    }
    if (original === undefined || object.kind !== original.kind) {
      throw failed(
        `returned invalid converted object${at}: invalid kind (expected ${original?.kind ?? ''}, received ${object.kind})`,
      );
    }
    const { name, namespace, uid: objectUid } = original.metadata;
    const { metadata } = object;
    if (metadata?.name !== name || metadata?.namespace !== namespace || metadata?.uid !== objectUid) {
      throw failed(`returned invalid metadata in object${at}: must not change name, namespace or UID`);
    }
    // Only labels and annotations are the webhook's to change.
    const { labels, annotations } = metadata;
    const kept = { ...original.metadata };
    delete kept.labels;
    delete kept.annotations;
    return {
      ...object,
      metadata: {
        ...kept,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
      },
    };
  });
}
