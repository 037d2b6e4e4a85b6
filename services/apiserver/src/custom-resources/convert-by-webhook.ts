import { type ConvertRemotely, readConverted } from '@gantry/custom-resources';
import { type CustomResourceDefinition, type KubeObject, StatusError } from '@gantry/objects';
import { errorMessage, type NewUid } from '@gantry/base';
import type { WebhookCaller, WebhookConfig } from '../webhooks/index.ts';

const TIMEOUT_MS = 30_000;
const GROUP = 'apiextensions.k8s.io';
const KIND = 'ConversionReview';
type ReviewVersion = 'v1' | 'v1beta1';

interface Review {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly response?: {
    readonly uid?: string;
    readonly convertedObjects?: readonly unknown[];
    readonly result?: { readonly status?: string; readonly message?: string };
  } | null;
}

/** Creates the conversion by the webhook of a definition. */
export function convertByWebhook(
  crd: CustomResourceDefinition,
  deps: { readonly caller: WebhookCaller; readonly newUid: NewUid },
): ConvertRemotely {
  const webhook = crd.spec.conversion?.webhook;
  const version = (webhook?.conversionReviewVersions ?? []).find((one) => one === 'v1' || one === 'v1beta1') ?? 'v1';
  return async (objects, apiVersion) => {
    const uid = deps.newUid();
    const from = objects[0]?.apiVersion ?? '';
    const blame = (why: string): StatusError =>
      new StatusError('', `conversion webhook for ${from}, Kind=${crd.spec.names.kind} ${why}`);
    const body = {
      kind: KIND,
      apiVersion: `${GROUP}/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    };
    let review: Review;
    try {
      const config = (webhook?.clientConfig ?? {}) as WebhookConfig;
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      review = (await deps.caller.post({ config, body, timeoutMs: TIMEOUT_MS, signal })) as Review;
    } catch (error) {
      throw blame(`failed: ${errorMessage(error)}`);
    }
    const why = whyNotAnswered(review, { uid, version });
    if (why !== undefined) throw blame(`failed: ${why}`);
    const converted = review.response?.convertedObjects ?? [];
    if (converted.length !== objects.length) {
      throw blame(`returned ${converted.length} objects, expected ${objects.length}`);
    }
    return objects.map((original, i): KubeObject => {
      const read = readConverted(original, converted[i], apiVersion);
      if (read.ok) return read.object;
      throw read.bare === true ? new StatusError('', read.why) : blame(read.why);
    });
  };
}

/** Why a ConversionReview is not a valid response; undefined if it is valid. */
function whyNotAnswered(
  review: Review,
  asked: { readonly uid: string; readonly version: ReviewVersion },
): string | undefined {
  return whyNoReview(review, asked.version) ?? whyNoResponse(review, asked);
}

/** Why an object is not a ConversionReview of the version. Reviews of v1beta1 are not checked. */
function whyNoReview({ apiVersion = '', kind = '' }: Review, version: ReviewVersion): string | undefined {
  const wanted = `${GROUP}/${version}`;
  if ((apiVersion === wanted && kind === KIND) || version === 'v1beta1') return undefined;
  if (apiVersion === '' && kind === '') return `expected webhook response of ${wanted}, Kind=${KIND}, got /, Kind=`;
  if (apiVersion === `${GROUP}/v1beta1` && kind === KIND) {
    return 'converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion';
  }
  const where = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"';
  return `no kind "${kind}" is registered for version "${apiVersion}" ${where}`;
}

function whyNoResponse(
  { response }: Review,
  { uid, version }: { readonly uid: string; readonly version: ReviewVersion },
): string | undefined {
  if (response === undefined || response === null) return 'no response provided';
  if (version === 'v1' && response.uid !== uid) return `expected response.uid="${uid}", got "${response.uid ?? ''}"`;
  const { status = '', message = '' } = response.result ?? {};
  if (status === 'Success') return undefined;
  return message === '' ? `response.result.status was '${status}', not 'Success'` : message;
}
