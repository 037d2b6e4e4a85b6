import { API_SERVERS, FIXED_SERVICES, type Ingress, type JsonObject, NODES_GROUP } from '@gantry/objects';
import { type AccessTarget, type Request, selectedName } from './request.ts';
import { APISERVER, type User } from '../user.ts';
import { nodeOfUser } from './acts-for.ts';
import { mayNode, objectReadByNodeRules } from './node-rules.ts';
import type { ObjectLookup } from './object-lookup.ts';

/** The rights of the cluster's own parts: what services, agents and holders of the bootstrap token need, whatever roles say. */
const PUBLIC_PATHS = /^\/(livez|readyz|healthz|version)(\/|$)/;
const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const FIXED_GROUPS = [FIXED_SERVICES, API_SERVERS, NODES_GROUP, 'system:bootstrappers'];

/** Whether the rights of this user are fixed here. */
export function isFixedIdentity(user: User): boolean {
  return FIXED_GROUPS.some((group) => user.groups.includes(group));
}

/** Whether the rights of this user look at the object of a write to the target. Only those of agents do. */
export function objectReadBy(user: User, target: AccessTarget): 'never' | 'sometimes' {
  return nodeOfUser(user) === undefined ? 'never' : objectReadByNodeRules(target);
}

export function fixedPathRight(user: User, verb: string, path: string): boolean {
  if (verb !== 'get' && verb !== 'head') return false;
  return PUBLIC_PATHS.test(path) || (path === '/metrics' && user.groups.includes(FIXED_SERVICES));
}

export function fixedRight(request: Request, lookup: ObjectLookup): boolean {
  const { user, verb, target } = request;
  if (!user.groups.includes('system:authenticated')) return false;
  const { group, resource } = target.definition;
  if (group === 'authentication.k8s.io' && resource === 'selfsubjectreviews') return verb === 'create';
  if (!isFixedIdentity(user)) return false;
  // A service's rights belong to its name within its group: other groups do not vouch for the name.
  const isService = user.groups.includes(FIXED_SERVICES);
  if (isService && user.name === 'system:kube-controller-manager') return true;
  if (isCertificateRequest(target)) return mayRequestCertificate(request, lookup);
  if (isService && user.name === 'system:kube-scheduler') return mayScheduler(request);
  if (isService && user.name === 'system:kube-proxy') return mayProxy(request);
  if (isService && user.name === 'system:kube-dns') return mayDns(request);
  if (isService && user.name === INGRESS_CONTROLLER) return mayIngress(request, lookup);
  if (user.groups.includes(API_SERVERS) && user.name === APISERVER.name) return isOwnLease(target, 'kube-apiserver');
  return mayNode(request, lookup);
}

function mayScheduler({ verb, target }: Request): boolean {
  const { group, resource } = target.definition;
  // Other parts of objects are ways to what runs: proxies, logs, commands.
  if (READ_VERBS.has(verb))
    return ['', 'status'].includes(target.subresource) && !(group === '' && resource === 'secrets');
  if (group === 'coordination.k8s.io') return isOwnLease(target, 'kube-scheduler');
  if (resource === 'events') return verb === 'create' || verb === 'patch' || verb === 'update';
  if (group !== '') return false;
  // Volumes for pods: it reserves those that exist, and names the node to those who make others.
  if (resource === 'persistentvolumes' || resource === 'persistentvolumeclaims')
    return target.subresource === '' && verb === 'patch';
  if (resource !== 'pods') return false;
  if (target.subresource === 'binding') return verb === 'create';
  if (target.subresource === 'status') return verb === 'patch' || verb === 'update';
  return target.subresource === '' && verb === 'delete';
}

/**
 * As the role `system:node-proxier`; pods, since on a host with several Nodes a packet's Node is that of the pod that sent it; and what
 * NetworkPolicies say, which name pods and namespaces by their labels.
 */
const READ_BY_PROXY: ReadonlySet<string> = new Set([
  '/services',
  '/nodes',
  '/pods',
  '/namespaces',
  'discovery.k8s.io/endpointslices',
  'networking.k8s.io/networkpolicies',
]);

function mayProxy({ verb, target }: Request): boolean {
  const { group, resource } = target.definition;
  return READ_VERBS.has(verb) && target.subresource === '' && READ_BY_PROXY.has(`${group}/${resource}`);
}

/** What its names come from, and the slice of its own Service. */
const DNS_READS: ReadonlySet<string> = new Set([
  '/services',
  '/namespaces',
  '/pods',
  'discovery.k8s.io/endpointslices',
]);
const DNS_SERVICE = 'kube-dns';

function mayDns({ verb, target }: Request): boolean {
  const { group, resource } = target.definition;
  if (target.subresource !== '' || !DNS_READS.has(`${group}/${resource}`)) return false;
  if (READ_VERBS.has(verb)) return true;
  if (resource !== 'endpointslices' || target.namespace !== 'kube-system') return false;
  // A creation is authorised before its body, and with it the name, is read.
  return verb === 'create' ? ['', DNS_SERVICE].includes(target.name) : verb === 'update' && target.name === DNS_SERVICE;
}

function isOwnLease({ definition, namespace, name }: AccessTarget, own: string): boolean {
  if (definition.group !== 'coordination.k8s.io' || definition.resource !== 'leases') return false;
  return namespace === 'kube-system' && (name === own || name === '' || name.startsWith(`${own}-`));
}

function isCertificateRequest({ definition, subresource }: AccessTarget): boolean {
  return (
    definition.group === 'certificates.k8s.io' &&
    definition.resource === 'certificatesigningrequests' &&
    subresource === ''
  );
}

/** They may ask for certificates and look at their own requests. */
function mayRequestCertificate({ user, verb, target, object, fieldSelector }: Request, lookup: ObjectLookup): boolean {
  if (verb === 'create') return true;
  if (!READ_VERBS.has(verb)) return false;
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  if (name === undefined) return false;
  const stored = object ?? (lookup.get('certificatesigningrequests', '', name) as JsonObject | undefined);
  const spec = stored?.spec as JsonObject | undefined;
  return stored === undefined || spec?.username === user.name;
}

/** The user of the ingress controller, by the common name of its certificate. */
const INGRESS_CONTROLLER = 'system:ingress-controller';

/** What routes come from. */
const READS: ReadonlySet<string> = new Set([
  '/services',
  'discovery.k8s.io/endpointslices',
  'networking.k8s.io/ingressclasses',
  'networking.k8s.io/ingresses',
]);

/**
 * What the ingress controller may do: read what routes come from, and of Secrets those that an Ingress of their namespace names for TLS;
 * write the status of Ingresses, Events, and a class.
 */
function mayIngress(request: Request, lookup: ObjectLookup): boolean {
  const { verb, target } = request;
  const kind = `${target.definition.group}/${target.definition.resource}`;
  if (target.subresource !== '') {
    return kind === 'networking.k8s.io/ingresses' && target.subresource === 'status' && isChange(verb);
  }
  if (kind === '/secrets') return mayReadSecret(request, lookup);
  if (kind === '/events') return verb === 'create' || isChange(verb);
  if (kind === 'networking.k8s.io/ingressclasses' && verb === 'create') return true;
  return READ_VERBS.has(verb) && READS.has(kind);
}

function isChange(verb: string): boolean {
  return verb === 'update' || verb === 'patch';
}

/** By name alone: a list or watch selects one. */
function mayReadSecret({ verb, target, fieldSelector }: Request, lookup: ObjectLookup): boolean {
  if (!READ_VERBS.has(verb) || target.namespace === '') return false;
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  if (name === undefined || name === '') return false;
  const ingresses = [...lookup.ingressesIn(target.namespace)] as readonly Ingress[];
  return ingresses.some(({ spec }) => (spec?.tls ?? []).some(({ secretName }) => secretName === name));
}
