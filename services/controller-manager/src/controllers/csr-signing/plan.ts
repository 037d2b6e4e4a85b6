import type { Instant, Plan } from '@gantry/base';
import type { CertificateSigningRequest, CertificateSigningRequestCondition, Node } from '@gantry/objects';

/** What a PKCS #10 request asks to have certified. */
export interface RequestedCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** Names of other kinds (mail, URI), which no signer of ours gives. */
  readonly otherNames: number;
}

/** What the plan looks at. `requested` is a text that says why when the request cannot be read. */
export interface ObservedRequest {
  readonly request: CertificateSigningRequest;
  readonly requested: RequestedCertificate | string;
  /** The Node that the request's subject names, where it names one. */
  readonly node: Node | undefined;
}

export type Action =
  | { readonly kind: 'approve'; readonly condition: CertificateSigningRequestCondition }
  | { readonly kind: 'deny'; readonly condition: CertificateSigningRequestCondition }
  /** Approved by another user, but against the signer's rules. */
  | { readonly kind: 'fail'; readonly condition: CertificateSigningRequestCondition }
  | { readonly kind: 'sign'; readonly seconds: number; readonly usages: readonly string[] }
  | { readonly kind: 'delete' };

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVING_SIGNER = 'kubernetes.io/kubelet-serving';
const SERVICE_SIGNER = 'gantry.dev/service';
const SIGNERS: ReadonlySet<string> = new Set([CLIENT_SIGNER, SERVING_SIGNER, SERVICE_SIGNER]);

const NODE_PREFIX = 'system:node:';
const NODES_GROUP = 'system:nodes';
const DAY_SECONDS = 86_400;
const MAX_SECONDS = 30 * DAY_SECONDS;
const MIN_SECONDS = 600;
const HOUR_MS = 3_600_000;
const ANSWERED_LIFE_MS = HOUR_MS;
const PENDING_LIFE_MS = 24 * HOUR_MS;

/** Names that a fixed service may carry in its certificate. */
const SERVICE_NAMES: Readonly<Record<string, { readonly groups: readonly string[]; readonly names: RegExp }>> = {
  'system:apiserver': {
    groups: ['gantry:apiservers'],
    names: /^(apiserver|load-balancer|localhost|127\.0\.0\.1|kubernetes(\.default(\.svc(\.cluster(\.local)?)?)?)?)$/,
  },
  'system:kube-scheduler': { groups: ['gantry:services'], names: /^(scheduler|localhost|127\.0\.0\.1)$/ },
  'system:kube-controller-manager': {
    groups: ['gantry:services'],
    names: /^(controller-manager|localhost|127\.0\.0\.1)$/,
  },
};

/**
 * Answers requests of our own signers: approved and signed, or denied with the reason. Requests of other signers wait for
 * theirs. What was answered, or never was, is removed after a while.
 */
export function planCertificateRequest(
  observed: ObservedRequest,
  settings: { readonly firstServiceAddress: string },
  now: Instant,
): Plan<Action> {
  const { request } = observed;
  const conditions = request.status?.conditions ?? [];
  const answer = conditions.find(({ type }) => type === 'Denied' || type === 'Failed');
  const isIssued = (request.status?.certificate ?? '') !== '';
  const createdAt = Date.parse(request.metadata.creationTimestamp ?? '');
  const endsAt = createdAt + (isIssued || answer !== undefined ? ANSWERED_LIFE_MS : PENDING_LIFE_MS);
  if (now >= endsAt) return { actions: [{ kind: 'delete' }] };
  const isOurs = SIGNERS.has(request.spec?.signerName ?? '');
  if (!isOurs || isIssued || answer !== undefined) return { actions: [], requeueAt: endsAt };
  const refusal = findRefusal(observed, settings.firstServiceAddress);
  const isApproved = conditions.some(({ type }) => type === 'Approved');
  return { actions: answerRequest(observed, refusal, isApproved), requeueAt: endsAt };
}

function answerRequest({ request }: ObservedRequest, refusal: string | undefined, isApproved: boolean): Action[] {
  if (refusal !== undefined) {
    return isApproved
      ? [
          {
            kind: 'fail',
            condition: { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message: refusal },
          },
        ]
      : [
          {
            kind: 'deny',
            condition: { type: 'Denied', status: 'True', reason: 'SignerValidationFailure', message: refusal },
          },
        ];
  }
  const asked = request.spec?.expirationSeconds ?? MAX_SECONDS;
  const seconds = Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, asked));
  const sign: Action = { kind: 'sign', seconds, usages: request.spec?.usages ?? [] };
  if (isApproved) return [sign];
  const message = `Auto approving ${request.spec?.signerName ?? ''} certificate: subject, names and usages are the requester's own.`;
  return [{ kind: 'approve', condition: { type: 'Approved', status: 'True', reason: 'AutoApproved', message } }, sign];
}

/** The node that the subject of a certificate names, if it names one. */
export function nodeNameOf(requested: RequestedCertificate | string): string | undefined {
  if (typeof requested === 'string' || !requested.commonName.startsWith(NODE_PREFIX)) return undefined;
  return requested.commonName.slice(NODE_PREFIX.length);
}

/** Why a request may not be signed, or undefined when it may. */
function findRefusal(observed: ObservedRequest, firstServiceAddress: string): string | undefined {
  const { request, requested } = observed;
  if (typeof requested === 'string') return `the request cannot be read: ${requested}`;
  if (requested.otherNames > 0) return 'only DNS names and IP addresses are certified';
  switch (request.spec?.signerName) {
    case CLIENT_SIGNER:
      return refuseNodeClient(observed, requested);
    case SERVING_SIGNER:
      return refuseNodeServing(request, requested);
    default:
      return refuseService(request, requested, firstServiceAddress);
  }
}

function refuseNodeClient({ request, node }: ObservedRequest, requested: RequestedCertificate): string | undefined {
  const subject = refuseNodeSubject(requested);
  if (subject !== undefined) return subject;
  if (requested.dnsNames.length > 0 || requested.ipAddresses.length > 0) return 'a client certificate carries no names';
  const usages = refuseUsages(request, ['digital signature', 'client auth'], ['key encipherment']);
  if (usages !== undefined) return usages;
  const { username = '', groups = [] } = request.spec ?? {};
  if (username === requested.commonName) return undefined;
  if (!username.startsWith('system:bootstrap:') || !groups.includes('system:bootstrappers')) {
    return `${username} may not ask for a certificate of ${requested.commonName}`;
  }
  if (node === undefined) return undefined;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return ready === undefined || ready === 'Unknown'
    ? undefined
    : `a living node has the name ${requested.commonName.slice(NODE_PREFIX.length)} already`;
}

function refuseNodeServing(request: CertificateSigningRequest, requested: RequestedCertificate): string | undefined {
  const subject = refuseNodeSubject(requested);
  if (subject !== undefined) return subject;
  if (request.spec?.username !== requested.commonName) return 'a node asks for its own serving certificate alone';
  const name = requested.commonName.slice(NODE_PREFIX.length);
  if (requested.ipAddresses.length > 0) return 'serving certificates carry no address';
  if (requested.dnsNames.length !== 1 || requested.dnsNames[0] !== name) {
    return `a serving certificate of ${name} carries the DNS name ${name} and no other`;
  }
  return refuseUsages(request, ['digital signature', 'server auth'], ['key encipherment']);
}

function refuseNodeSubject({ commonName, organizations }: RequestedCertificate): string | undefined {
  if (!/^system:node:[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(commonName)) {
    return `the common name ${JSON.stringify(commonName)} is not ${NODE_PREFIX} and a node's name`;
  }
  if (organizations.length === 1 && organizations[0] === NODES_GROUP) return undefined;
  return `the organization must be ${NODES_GROUP} and nothing else`;
}

function refuseService(
  request: CertificateSigningRequest,
  requested: RequestedCertificate,
  firstServiceAddress: string,
): string | undefined {
  const service = SERVICE_NAMES[requested.commonName];
  if (service === undefined) return `${JSON.stringify(requested.commonName)} is no fixed service`;
  if (request.spec?.username !== requested.commonName) return 'a service renews its own certificate alone';
  const groups = [...requested.organizations].sort().join(',');
  if (groups !== [...service.groups].sort().join(',')) return `the organizations must be ${service.groups.join(', ')}`;
  const strange = [...requested.dnsNames, ...requested.ipAddresses].find(
    (name) =>
      !service.names.test(name) && !(name === firstServiceAddress && requested.commonName === 'system:apiserver'),
  );
  if (strange !== undefined) return `${requested.commonName} may not carry the name ${strange}`;
  return refuseUsages(request, ['digital signature', 'client auth'], ['key encipherment', 'server auth']);
}

function refuseUsages(
  request: CertificateSigningRequest,
  required: readonly string[],
  optional: readonly string[],
): string | undefined {
  const usages = request.spec?.usages ?? [];
  const missing = required.find((usage) => !usages.includes(usage));
  if (missing !== undefined) return `the usage ${JSON.stringify(missing)} is missing`;
  const strange = usages.find((usage) => !required.includes(usage) && !optional.includes(usage));
  return strange === undefined ? undefined : `the usage ${JSON.stringify(strange)} is not given by this signer`;
}
