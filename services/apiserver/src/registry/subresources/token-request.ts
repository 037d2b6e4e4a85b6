import { findResource } from '@gantry/kinds';
import {
  type FieldError,
  invalid,
  type KubeObject,
  NODES,
  type Pod,
  PODS,
  type ResourceRef,
  SECRETS,
  SERVICE_ACCOUNTS,
  type ServiceAccount,
  StatusError,
  type TokenRequest,
} from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import type { AdmissionReader } from '../../admission/index.ts';
import { ISSUER } from '../../auth/authn/service-account-claims.ts';
import type { BoundObject, TokenIssuer } from '../../auth/authn/token-issuer.ts';

/** The short name of the schema of the token subresource. */
export const TOKEN_REQUEST_SCHEMA = 'authentication.v1.TokenRequest';

const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;

const BINDABLE: Readonly<Record<string, ResourceRef>> = {
  Pod: PODS,
  Secret: SECRETS,
  Node: NODES,
};

/** Issues a token for a service account. Returns the TokenRequest with the token. */
export async function issueToken(
  account: ServiceAccount,
  request: TokenRequest,
  deps: { readonly reader: AdmissionReader; readonly issuer: TokenIssuer; readonly now: Instant },
): Promise<TokenRequest & KubeObject> {
  const { name = '', namespace = '', uid = '' } = account.metadata;
  checkMetadata(account, request);
  const seconds = request.spec?.expirationSeconds ?? DEFAULT_SECONDS;
  checkSeconds(seconds);
  const boundObject = await findBound(account, request, deps.reader);
  const asked = request.spec?.audiences ?? [];
  const audiences = asked.length === 0 ? [ISSUER] : asked;
  const { token, expirationTimestamp } = await deps.issuer.issue({
    serviceAccount: { namespace, name, uid },
    audiences,
    expirationSeconds: seconds,
    boundObject,
  });
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, namespace, uid, creationTimestamp: formatTime(deps.now) },
    spec: { ...request.spec, audiences, expirationSeconds: seconds },
    status: { token, expirationTimestamp },
  };
}

/** Throws when the body names another service account than the path. */
function checkMetadata(account: ServiceAccount, { metadata }: TokenRequest & KubeObject): void {
  const { name = '', namespace = '', uid = '' } = account.metadata;
  for (const [field, value] of Object.entries({ name, namespace })) {
    const sent = metadata?.[field as 'name' | 'namespace'] ?? '';
    if (sent === '' || sent === value) continue;
    const error = invalid(`metadata.${field}`, sent, `must match the service account ${field} if specified`);
    throw StatusError.invalid('authentication.k8s.io', 'TokenRequest', name, [error]);
  }
  const sent = metadata?.uid ?? '';
  if (sent === '' || sent === uid) return;
  const why = `the UID in the token request (${sent}) does not match the UID of the service account (${uid})`;
  throw StatusError.conflict({ group: 'authentication.k8s.io', resource: 'TokenRequest' }, name, why);
}

function checkSeconds(seconds: number): void {
  const errors: FieldError[] = [];
  const refuse = (detail: string) => errors.push(invalid('spec.expirationSeconds', seconds, detail));
  if (seconds < MIN_SECONDS) refuse('may not specify a duration less than 10 minutes');
  if (seconds > MAX_SECONDS) refuse('may not specify a duration larger than 2^32 seconds');
  if (errors.length > 0) throw StatusError.invalid('authentication.k8s.io', 'TokenRequest', '', errors);
}

async function findBound(
  account: ServiceAccount,
  request: TokenRequest,
  reader: AdmissionReader,
): Promise<BoundObject | undefined> {
  const bound = request.spec?.boundObjectRef;
  if (bound === undefined || bound === null) return undefined;
  const { name = '', namespace = '' } = account.metadata;
  const kind = bound.kind ?? '';
  const resource = BINDABLE[kind];
  const definition = resource === undefined ? undefined : findResource(resource);
  if (resource === undefined || definition === undefined || (bound.apiVersion ?? 'v1') !== 'v1') {
    const [group, version] = (bound.apiVersion ?? '').includes('/')
      ? (bound.apiVersion ?? '').split('/')
      : ['', bound.apiVersion ?? ''];
    throw StatusError.badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  const boundName = bound.name ?? '';
  const object = await reader.find(resource, definition.namespaced ? namespace : '', boundName);
  if (object === undefined) throw StatusError.notFound(resource, boundName);
  const uid = object.metadata.uid ?? '';
  if ((bound.uid ?? '') !== '' && bound.uid !== uid) {
    const why = `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw StatusError.conflict({ group: '', resource: resource.resource }, boundName, why);
  }
  if (kind !== 'Pod') return { apiVersion: 'v1', kind, name: boundName, uid };
  const pod = object as Pod;
  if ((pod.spec?.serviceAccountName ?? '') !== name) {
    throw StatusError.badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`,
    );
  }
  return { apiVersion: 'v1', kind, name: boundName, uid, ...(await nodeOf(pod, reader)) };
}

async function nodeOf(pod: Pod, reader: AdmissionReader): Promise<{ node?: { name: string; uid: string } }> {
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') return {};
  const node = await reader.find(NODES, '', nodeName);
  return { node: { name: nodeName, uid: node?.metadata.uid ?? '' } };
}

/** The error NotFound for a missing service account. */
export function accountMissing(name: string): StatusError {
  return StatusError.notFound(SERVICE_ACCOUNTS, name);
}
