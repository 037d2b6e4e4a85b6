import { API_SERVERS, FIXED_SERVICES, type Ingress, type JsonObject, NODES_GROUP } from '@gantry/objects';
import { type AccessTarget, type Request, selectedName } from './request.ts';
import { APISERVER, type User } from '../user.ts';
import { nodeOfUser } from './acts-for.ts';
import { mayNode, objectReadByNodeRules } from './node-rules.ts';
import type { ObjectLookup } from './object-lookup.ts';

/** This file defines the rights of services, agents and holders of the bootstrap token, which do not depend on roles. */
const PUBLIC_PATHS = /^\/(livez|readyz|healthz|version)(\/|$)/;
const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const FIXED_GROUPS = [FIXED_SERVICES, API_SERVERS, NODES_GROUP, 'system:bootstrappers'];

/** Whether this file defines the rights of the user. */
export function isFixedIdentity(user: User): boolean {
  return FIXED_GROUPS.some((group) => user.groups.includes(group));
}

/** Whether the rights of the user depend on the object of a write to the target. Only the rights of agents do. */
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
  // A service is identified by its name together with its group: users of other groups may have the same name.
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
  // Other subresources give access to running containers: proxy, log, exec.
  if (READ_VERBS.has(verb))
    return ['', 'status'].includes(target.subresource) && !(group === '' && resource === 'secrets');
  if (group === 'coordination.k8s.io') return isOwnLease(target, 'kube-scheduler');
  if (resource === 'events') return verb === 'create' || verb === 'patch' || verb === 'update';
  if (group !== '') return false;
  // For volumes of pods, the scheduler reserves existing volumes, and writes the node into claims that still need a volume.
  if (resource === 'persistentvolumes' || resource === 'persistentvolumeclaims')
    return target.subresource === '' && verb === 'patch';
  if (resource !== 'pods') return false;
  if (target.subresource === 'binding') return verb === 'create';
  if (target.subresource === 'status') return verb === 'patch' || verb === 'update';
  return target.subresource === '' && verb === 'delete';
}

/**
 * The resources of the role `system:node-proxier`. Pods in addition, since a host has several Nodes and the Node of a packet is that of
 * its pod. NetworkPolicies in addition, with the namespaces that they select by labels.
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

/** The objects from which DNS names are made. The DNS service may also write EndpointSlice and Endpoints of its own Service. */
const DNS_READS: ReadonlySet<string> = new Set([
  '/services',
  '/namespaces',
  '/pods',
  'discovery.k8s.io/endpointslices',
]);
const DNS_SERVICE = 'kube-dns';

function mayDns({ verb, target, fieldSelector }: Request): boolean {
  const { group, resource } = target.definition;
  if (target.subresource !== '') return false;
  if (READ_VERBS.has(verb) && DNS_READS.has(`${group}/${resource}`)) return true;
  const isPublished = resource === 'endpointslices' || (group === '' && resource === 'endpoints');
  if (!isPublished || target.namespace !== 'kube-system') return false;
  // A create is authorised before its body is read, so its name may be unknown.
  if (verb === 'create') return ['', DNS_SERVICE].includes(target.name);
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  return (verb === 'update' || READ_VERBS.has(verb)) && name === DNS_SERVICE;
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

/** Fixed identities may create certificate requests and read their own. */
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

/** The resources from which routes are made. */
const READS: ReadonlySet<string> = new Set([
  '/services',
  'discovery.k8s.io/endpointslices',
  'networking.k8s.io/ingressclasses',
  'networking.k8s.io/ingresses',
]);

/**
 * The rights of the ingress controller. It may read the resources of routes, and the Secrets that an Ingress of the same namespace names
 * for TLS. It may write the status of Ingresses and Events, and create an IngressClass.
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

/** Secrets are read by name only: a list or watch must select one name. */
function mayReadSecret({ verb, target, fieldSelector }: Request, lookup: ObjectLookup): boolean {
  if (!READ_VERBS.has(verb) || target.namespace === '') return false;
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  if (name === undefined || name === '') return false;
  const ingresses = [...lookup.ingressesIn(target.namespace)] as readonly Ingress[];
  return ingresses.some(({ spec }) => (spec?.tls ?? []).some(({ secretName }) => secretName === name));
}
