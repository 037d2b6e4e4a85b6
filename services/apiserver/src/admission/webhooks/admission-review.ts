import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject, Status } from '@gantry/objects';
import { userInfo } from '../../auth/user.ts';
import { WebhookCallError } from '../../webhooks/index.ts';
import type { AdmissionRequest } from '../check/admission-check.ts';
import { namespaceOf } from '../check/request-matching.ts';

/** The decision of a webhook. */
export interface ReviewResponse {
  readonly allowed: boolean;
  readonly status: Partial<Status> | undefined;
  /** A JSON patch, decoded from base64; undefined when there is none. */
  readonly patch: Buffer | undefined;
  readonly patchType: string;
  readonly warnings: readonly string[];
  /** Audit annotations. The keys do not contain the name of the webhook. */
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** The AdmissionReview for a webhook, in the version `as` that its rule names. */
export function admissionReview(
  uid: string,
  request: AdmissionRequest,
  as: ResourceDefinition,
  objects: { readonly object: KubeObject | null; readonly oldObject: KubeObject | null },
): object {
  const { definition, kind, subresource, user } = request;
  const resource = ({ group, version, resource: plural }: ResourceDefinition) => ({ group, version, resource: plural });
  const ownKind = kind.kind === definition.kind && kind.group === definition.group;
  const part = subresource === '' ? {} : { subResource: subresource, requestSubResource: subresource };
  const namespace = namespaceOf(request);
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      kind: ownKind ? { group: as.group, version: as.version, kind: as.kind } : kind,
      resource: resource(as),
      requestKind: kind,
      requestResource: resource(definition),
      ...part,
      ...(request.name === '' ? {} : { name: request.name }),
      ...(namespace === '' ? {} : { namespace }),
      operation: request.operation.toUpperCase(),
      userInfo: userInfo(user),
      ...objects,
      dryRun: request.dryRun,
      options: request.options,
    },
  };
}

/** Parses a response. Throws if it is invalid. Only mutating webhooks may return patches. */
export function readReview(answer: unknown, uid: string, type: 'mutating' | 'validating'): ReviewResponse {
  const { kind = '', apiVersion = '', response } = fields(answer);
  if (response === undefined || response === null) throw invalid('webhook response was absent');
  const { uid: answered = '', allowed, patch, patchType, status, warnings, auditAnnotations } = fields(response);
  if (answered !== uid) {
    throw invalid(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered)}`);
  }
  if (kind !== 'AdmissionReview' || apiVersion !== 'admission.k8s.io/v1') {
    const got = `${String(apiVersion)}, Kind=${String(kind)}`;
    throw invalid(`expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${got}`);
  }
  const bytes = typeof patch === 'string' && patch !== '' ? Buffer.from(patch, 'base64') : undefined;
  checkPatch(bytes, patchType, type);
  return {
    allowed: allowed === true,
    status: status === undefined || status === null ? undefined : fields(status),
    patch: bytes,
    patchType: typeof patchType === 'string' ? patchType : '',
    warnings: Array.isArray(warnings) ? warnings.filter((one) => typeof one === 'string') : [],
    auditAnnotations: Object.fromEntries(
      Object.entries(fields(auditAnnotations)).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string',
      ),
    ),
  };
}

function checkPatch(patch: Buffer | undefined, patchType: unknown, type: 'mutating' | 'validating'): void {
  const typed = patchType !== undefined && patchType !== null;
  if (type === 'validating') {
    if (patch !== undefined) throw invalid('validating webhook may not return response.patch');
    if (typed) throw invalid('validating webhook may not return response.patchType');
    return;
  }
  if (patch !== undefined && !typed) throw invalid('webhook returned response.patch but not response.patchType');
  if (patch === undefined && typed) throw invalid('webhook returned response.patchType but not response.patch');
  if (patchType === '') throw invalid('webhook returned invalid response.patchType of ""');
}

function invalid(why: string): WebhookCallError {
  return new WebhookCallError(`received invalid webhook response: ${why}`);
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
