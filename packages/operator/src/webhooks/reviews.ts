import { errorMessage, raceAbort } from '@gantry/base';
import { type KubeObject, StatusError } from '@gantry/objects';
import type { ReviewedRequest } from './admission.ts';
import type { ConvertibleKind } from './conversion.ts';
import { admissionPath, conversionPath, type WebhookOptions } from './webhook-options.ts';

type Handle = (request: Record<string, unknown>, signal: AbortSignal) => Promise<object>;

/** A webhook at its path. */
export interface WebhookEndpoint {
  readonly name: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly handle: Handle;
}

/** The webhooks of an operator, by the path at which API servers call them. */
export function webhookEndpoints({
  admission = [],
  conversions = [],
}: Pick<WebhookOptions, 'admission' | 'conversions'>): ReadonlyMap<string, WebhookEndpoint> {
  const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' };
  const conversion = { kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' };
  return new Map([
    ...admission.map((webhook): [string, WebhookEndpoint] => {
      const handle: Handle = (request, signal) => webhook.review(request as unknown as ReviewedRequest, signal);
      return [admissionPath(webhook), { ...review, name: webhook.name, handle }];
    }),
    ...conversions.map((kind): [string, WebhookEndpoint] => {
      const name = `${kind.resource}.${kind.group}`;
      return [conversionPath(kind), { ...conversion, name, handle: async (request) => convertAll(kind, request) }];
    }),
  ]);
}

function convertAll(
  kind: ConvertibleKind<KubeObject>,
  { objects, desiredAPIVersion }: Record<string, unknown>,
): object {
  if (!Array.isArray(objects) || typeof desiredAPIVersion !== 'string') {
    throw StatusError.badRequest('request.objects and request.desiredAPIVersion: are required');
  }
  try {
    const convertedObjects = (objects as readonly KubeObject[]).map((one) => kind.convert(one, desiredAPIVersion));
    return { convertedObjects, result: { status: 'Success' } };
  } catch (error) {
    // It is shown to the user who reads or writes the object.
    return { convertedObjects: [], result: { status: 'Failure', message: errorMessage(error) } };
  }
}

/** The AdmissionReview or ConversionReview that answers one. Rejects with StatusError BadRequest, and with the webhook's own error. */
export async function answerReview(endpoint: WebhookEndpoint, body: object, signal: AbortSignal): Promise<object> {
  const { kind, apiVersion, handle } = endpoint;
  const asked = body as { readonly kind?: unknown; readonly apiVersion?: unknown; readonly request?: unknown };
  const { request } = asked;
  if (asked.kind !== kind || asked.apiVersion !== apiVersion || typeof request !== 'object' || request === null) {
    throw StatusError.badRequest(`the body must be a ${kind} of ${apiVersion} with a request`);
  }
  const { uid } = request as { readonly uid?: unknown };
  if (typeof uid !== 'string') throw StatusError.badRequest('request.uid: is required');
  const response = await raceAbort(handle(request as Record<string, unknown>, signal), signal);
  return { kind, apiVersion, response: { uid, ...response } };
}
