import { type Instant, must, type Plan } from '@gantry/base';
import {
  API_SERVERS,
  type CertificateSigningRequest,
  type CertificateSigningRequestCondition,
  CLIENT_SIGNER,
  ENGINE_EXTRA,
  ENGINE_UNIT,
  FIXED_SERVICES,
  isWithin,
  type Node,
  NODE_CLIENT_SIGNER,
  NODE_USER_PREFIX,
  NODES_GROUP,
  parseIpv4Range,
  SERVICE_SIGNER,
  SERVING_SIGNER,
  UNLIMITED_GROUPS,
} from '@gantry/objects';
import { endOf } from './request-life.ts';

/** The content of a PKCS #10 request. */
export interface RequestedCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** The number of names of other kinds (mail, URI), which our signers do not certify. */
  readonly otherNames: number;
}

/** The input of the plan. `requested` is an error message if the request cannot be read. */
export interface ObservedRequest {
  readonly request: CertificateSigningRequest;
  readonly requested: RequestedCertificate | string;
  /** The Node that the request's subject names; undefined if it names none. */
  readonly node: Node | undefined;
}

/** The signing authority: the cluster's own, or the one that only certifies servers of agents. */
export type Authority = 'cluster' | 'node-serving';

/** Settings of the signers. */
export interface SignerSettings {
  /** The address of the Service `default/kubernetes`, which is in the apiserver's certificate. */
  readonly firstServiceAddress: string;
  /** The range of pods and of the cluster's containers. Each API server's certificate has its own address there. */
  readonly podCidr: string;
  /** DNS names of the control plane, which no node may have. */
  readonly reservedNames: readonly string[];
  /** Whether valid requests for serving certificates of nodes are approved automatically, or wait for `kubectl certificate approve`. */
  readonly servingApproval: 'automatic' | 'manual';
  /** Whether a Node may request the first certificate of its host's proxy, which a joining host needs. */
  readonly joining: 'allowed' | 'refused';
}

export type Action =
  | { readonly kind: 'approve'; readonly condition: CertificateSigningRequestCondition }
  | { readonly kind: 'deny'; readonly condition: CertificateSigningRequestCondition }
  /** Approved by another user, but violates the signer's rules. */
  | { readonly kind: 'fail'; readonly condition: CertificateSigningRequestCondition }
  | {
      readonly kind: 'sign';
      readonly by: Authority;
      readonly seconds: number;
      readonly usages: readonly string[];
    }
  | { readonly kind: 'delete' };

const SIGNERS: ReadonlySet<string> = new Set([NODE_CLIENT_SIGNER, CLIENT_SIGNER, SERVING_SIGNER, SERVICE_SIGNER]);

const CLIENT_USAGES: ReadonlySet<string> = new Set(['digital signature', 'key encipherment', 'client auth']);
/** The name of a Docker engine in the organizational unit of an agent's certificate. */
const ENGINE_NAME = /^[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?$/;
/** Organizational units that may have a meaning in the cluster; others are free text, as in Kubernetes. */
const OWN_UNIT = /^gantry:/i;
const RESERVED_SUFFIXES = ['svc', 'cluster', 'cluster.local', 'localhost'];

const PROXY = 'system:kube-proxy';
const DAY_SECONDS = 86_400;
const MAX_SECONDS = 30 * DAY_SECONDS;
/** Kubernetes' default for certificates of clients. */
const MAX_CLIENT_SECONDS = 365 * DAY_SECONDS;
const MIN_SECONDS = 600;

/** Names that the certificate of a fixed service may contain. */
const SERVICE_NAMES: Readonly<Record<string, { readonly groups: readonly string[]; readonly names: RegExp }>> = {
  'system:apiserver': {
    groups: [API_SERVERS],
    names: /^(apiserver|load-balancer|localhost|127\.0\.0\.1|kubernetes(\.default(\.svc(\.cluster(\.local)?)?)?)?)$/,
  },
  [PROXY]: { groups: [FIXED_SERVICES], names: /^(proxy|localhost|127\.0\.0\.1)$/ },
  'system:kube-scheduler': { groups: [FIXED_SERVICES], names: /^(scheduler|localhost|127\.0\.0\.1)$/ },
  'system:kube-controller-manager': {
    groups: [FIXED_SERVICES],
    names: /^(controller-manager|localhost|127\.0\.0\.1)$/,
  },
  'system:kube-dns': { groups: [FIXED_SERVICES], names: /^(dns|localhost|127\.0\.0\.1)$/ },
};

/**
 * Handles requests for our own signers. Agents and services get their own certificates without approval. Other clients, and with
 * `servingApproval: manual` the servers of agents, get theirs once the request is approved. Invalid requests are denied, or marked Failed
 * if they are already approved. Requests for other signers are left to those. Requests are deleted some time after they were handled, or if
 * they never were.
 */
export function planCertificateRequest(
  observed: ObservedRequest,
  settings: SignerSettings,
  now: Instant,
): Plan<Action> {
  const { request } = observed;
  const conditions = request.status?.conditions ?? [];
  const answer = conditions.find(({ type }) => type === 'Denied' || type === 'Failed');
  const isIssued = (request.status?.certificate ?? '') !== '';
  const endsAt = endOf(request);
  if (endsAt !== undefined && now >= endsAt) return { actions: [{ kind: 'delete' }] };
  const isOurs = SIGNERS.has(request.spec?.signerName ?? '');
  if (!isOurs || isIssued || answer !== undefined) return { actions: [], requeueAt: endsAt };
  return { actions: answerRequest(observed, settings), requeueAt: endsAt };
}

function answerRequest(observed: ObservedRequest, settings: SignerSettings): Action[] {
  const { request } = observed;
  const { signerName = '', expirationSeconds, usages = [] } = request.spec ?? {};
  const isApproved = (request.status?.conditions ?? []).some(({ type }) => type === 'Approved');
  const refusal = findRefusal(observed, settings);
  if (refusal !== undefined) {
    const condition = { status: 'True', reason: 'SignerValidationFailure', message: refusal };
    return isApproved
      ? [{ kind: 'fail', condition: { ...condition, type: 'Failed' } }]
      : [{ kind: 'deny', condition: { ...condition, type: 'Denied' } }];
  }
  const longest = signerName === CLIENT_SIGNER ? MAX_CLIENT_SECONDS : MAX_SECONDS;
  const sign: Action = {
    kind: 'sign',
    by: signerName === SERVING_SIGNER ? 'node-serving' : 'cluster',
    seconds: Math.min(longest, Math.max(MIN_SECONDS, expirationSeconds ?? longest)),
    usages,
  };
  if (isApproved) return [sign];
  if (signerName === CLIENT_SIGNER || (signerName === SERVING_SIGNER && settings.servingApproval === 'manual'))
    return [];
  const message = `Auto approving ${signerName} certificate: subject, names and usages are the requester's own.`;
  return [{ kind: 'approve', condition: { type: 'Approved', status: 'True', reason: 'AutoApproved', message } }, sign];
}

/** The node that the subject of a certificate names; undefined if it names none. */
export function nodeNameOf(requested: RequestedCertificate | string): string | undefined {
  if (typeof requested === 'string' || !requested.commonName.startsWith(NODE_USER_PREFIX)) return undefined;
  return requested.commonName.slice(NODE_USER_PREFIX.length);
}

/** The reason why a request must not be signed; undefined if it may be. */
function findRefusal(observed: ObservedRequest, settings: SignerSettings): string | undefined {
  const { request, requested } = observed;
  if (typeof requested === 'string') return `the request cannot be read: ${requested}`;
  if (requested.otherNames > 0) return 'only DNS names and IP addresses are certified';
  switch (request.spec?.signerName) {
    case NODE_CLIENT_SIGNER:
      return refuseNodeClient(observed, requested, settings);
    case CLIENT_SIGNER:
      return refuseClient(request, requested);
    case SERVING_SIGNER:
      return refuseNodeServing(request, requested, settings);
    default:
      return refuseService(request, requested, settings);
  }
}

/** As in Kubernetes, any subject that an approver accepts, except for groups with unlimited rights. */
function refuseClient(request: CertificateSigningRequest, requested: RequestedCertificate): string | undefined {
  const group = requested.organizations.find((name) => UNLIMITED_GROUPS.has(name));
  if (group !== undefined) return `the group ${group} is not given by this signer`;
  const unit = requested.organizationalUnits.find((name) => OWN_UNIT.test(name));
  if (unit !== undefined) return `the organizational unit ${unit} is not given by this signer`;
  return refuseClientUsages(request.spec?.usages ?? []);
}

/** In Kubernetes' words. */
function refuseClientUsages(usages: readonly string[]): string | undefined {
  const strange = usages.find((usage) => !CLIENT_USAGES.has(usage));
  if (strange !== undefined) return `invalid usage for client certificate: ${strange}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

/** The engine that an organizational unit of an agent's certificate names. */
function engineOfUnit(unit: string): string | undefined {
  const name = unit.startsWith(ENGINE_UNIT) ? unit.slice(ENGINE_UNIT.length) : '';
  return ENGINE_NAME.test(name) ? name : undefined;
}

function refuseNodeClient(
  { request, node }: ObservedRequest,
  requested: RequestedCertificate,
  settings: SignerSettings,
): string | undefined {
  const subject = refuseNodeSubject(requested, settings);
  if (subject !== undefined) return subject;
  if (requested.dnsNames.length > 0 || requested.ipAddresses.length > 0) return 'a client certificate carries no names';
  const usages = refuseUsages(request, ['digital signature', 'client auth'], ['key encipherment']);
  if (usages !== undefined) return usages;
  const engines = requested.organizationalUnits.map(engineOfUnit);
  if (engines.length > 1 || engines.includes(undefined)) {
    return `the organizational unit must be ${ENGINE_UNIT} and the name of one engine`;
  }
  const { username = '', groups = [], extra = {} } = request.spec ?? {};
  if (username === requested.commonName) {
    const own = extra[ENGINE_EXTRA]?.[0];
    return engines[0] === own ? undefined : `${username} is an agent of the engine ${own ?? '(none)'} and of no other`;
  }
  if (!username.startsWith('system:bootstrap:') || !groups.includes('system:bootstrappers')) {
    return `${username} may not ask for a certificate of ${requested.commonName}`;
  }
  if (node === undefined) return undefined;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return ready === undefined || ready === 'Unknown'
    ? undefined
    : `a living node has the name ${requested.commonName.slice(NODE_USER_PREFIX.length)} already`;
}

function refuseNodeServing(
  request: CertificateSigningRequest,
  requested: RequestedCertificate,
  settings: SignerSettings,
): string | undefined {
  const subject = refuseNodeSubject(requested, settings);
  if (subject !== undefined) return subject;
  if (requested.organizationalUnits.length > 0) return 'serving certificates carry no organizational unit';
  if (request.spec?.username !== requested.commonName) return 'a node asks for its own serving certificate alone';
  const name = requested.commonName.slice(NODE_USER_PREFIX.length);
  if (requested.ipAddresses.length > 0) return 'serving certificates carry no address';
  if (requested.dnsNames.length !== 1 || requested.dnsNames[0] !== name) {
    return `a serving certificate of ${name} carries the DNS name ${name} and no other`;
  }
  return refuseUsages(request, ['digital signature', 'server auth'], ['key encipherment']);
}

function refuseNodeSubject(
  { commonName, organizations }: RequestedCertificate,
  { reservedNames }: SignerSettings,
): string | undefined {
  if (!/^system:node:[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(commonName)) {
    return `the common name ${JSON.stringify(commonName)} is not ${NODE_USER_PREFIX} and a node's name`;
  }
  const name = commonName.slice(NODE_USER_PREFIX.length);
  if (isReserved(name, reservedNames)) return `the name ${name} is reserved for the control plane`;
  if (organizations.length === 1 && organizations[0] === NODES_GROUP) return undefined;
  return `the organization must be ${NODES_GROUP} and nothing else`;
}

/** Whether a name belongs to the control plane or to a Service's DNS domain. */
function isReserved(name: string, reservedNames: readonly string[]): boolean {
  if (reservedNames.includes(name)) return true;
  return RESERVED_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}

function refuseService(
  request: CertificateSigningRequest,
  requested: RequestedCertificate,
  settings: SignerSettings,
): string | undefined {
  const service = SERVICE_NAMES[requested.commonName];
  if (service === undefined) return `${JSON.stringify(requested.commonName)} is no fixed service`;
  if (!mayAskForService(request, requested.commonName, settings)) return 'a service renews its own certificate alone';
  if (requested.organizationalUnits.length > 0) return 'certificates of services carry no organizational unit';
  const groups = [...requested.organizations].sort().join(',');
  if (groups !== [...service.groups].sort().join(',')) return `the organizations must be ${service.groups.join(', ')}`;
  const strange = [...requested.dnsNames, ...requested.ipAddresses].find(
    (name) =>
      !service.names.test(name) && !(requested.commonName === 'system:apiserver' && isOfApiServers(name, settings)),
  );
  if (strange !== undefined) return `${requested.commonName} may not carry the name ${strange}`;
  return refuseUsages(request, ['digital signature', 'client auth'], ['key encipherment', 'server auth']);
}

/** Addresses that `default/kubernetes` publishes: its own, and those of the API servers. */
function isOfApiServers(address: string, { firstServiceAddress, podCidr }: SignerSettings): boolean {
  return address === firstServiceAddress || isWithin(must(parseIpv4Range(podCidr), podCidr), address);
}

/** A service may renew its own certificate. A Node may request the first certificate of the proxy of a joining host. */
function mayAskForService(
  { spec }: CertificateSigningRequest,
  commonName: string,
  { joining }: SignerSettings,
): boolean {
  const { username = '', groups = [] } = spec ?? {};
  if (username === commonName) return true;
  return (
    joining === 'allowed' &&
    commonName === PROXY &&
    username.startsWith(NODE_USER_PREFIX) &&
    groups.includes(NODES_GROUP)
  );
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
