import {
  claimsOfPod,
  type Container,
  type EphemeralContainer,
  isForDeletionOn,
  type JsonObject,
  type KubeObject,
  type PersistentVolume,
  type Pod,
  secretsOfPod,
} from '@gantry/objects';
import { actsFor, CUSTODIAN_LEASES, custodianLeaseOf, NODE_LEASES, nodeOfUser } from './acts-for.ts';
import { type AccessTarget, type Request, selectedName, selectedValue } from './request.ts';
import type { ObjectLookup } from './object-lookup.ts';

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const LEASE_VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);
const POD_SUBRESOURCE_VERBS: Readonly<Record<string, readonly string[]>> = {
  '': ['get', 'create', 'delete'],
  status: ['get', 'update', 'patch'],
  eviction: ['create'],
};

/**
 * The rights of an agent, by object: its own Node, the pods on that Node, the objects that those pods use, its Lease, Events. The rules
 * are those of Kubernetes' node authorizer, and those of a custodian (`acts-for.ts`). The admission check NodeRestriction checks the
 * content of written objects.
 */
export function mayNode(request: Request, lookup: ObjectLookup): boolean {
  const { verb, target } = request;
  const { group, resource } = target.definition;
  const node = nodeOfUser(request.user);
  if (node === undefined) return false;
  switch (`${group}/${resource}`) {
    case '/nodes':
      return mayOnNode(request, lookup);
    case '/pods':
      return mayPod(request, lookup);
    case '/events':
    case 'events.k8s.io/events':
      return verb === 'create' || verb === 'patch' || verb === 'update';
    case '/services':
    case 'certificates.k8s.io/clustertrustbundles':
    case 'node.k8s.io/runtimeclasses':
    case 'storage.k8s.io/csidrivers':
      return READ_VERBS.has(verb) && target.subresource === '';
    // The agent authenticates and authorises the clients of its own endpoints.
    case 'authentication.k8s.io/tokenreviews':
    case 'authorization.k8s.io/subjectaccessreviews':
    case 'authorization.k8s.io/localsubjectaccessreviews':
      return verb === 'create' && target.subresource === '';
    case '/secrets':
      return readsNamed(request) && uses(request, node, lookup, secretsOfPod);
    case '/configmaps':
      return readsNamed(request) && uses(request, node, lookup, configMapsOf);
    case '/persistentvolumeclaims':
      return mayClaim(request) && uses(request, node, lookup, claimsOf);
    case '/persistentvolumes':
      return mayVolume(request, node, lookup);
    case 'resource.k8s.io/resourceclaims':
      return verb === 'get' && target.subresource === '' && uses(request, node, lookup, resourceClaimsOf);
    case '/serviceaccounts':
      return mayServiceAccount(request, node, lookup);
    case 'coordination.k8s.io/leases':
      return mayLease(request, lookup);
    case 'storage.k8s.io/csinodes':
      return target.subresource === '' && (verb === 'get' || LEASE_VERBS.has(verb)) && namesOwn(request, node);
    case 'resource.k8s.io/resourceslices':
      return mayResourceSlice(request, node);
    default:
      return false;
  }
}

/** Whether the rules depend on the stored object of a write. If so, they are checked before the body is read, and again with the object. */
export function objectReadByNodeRules({ definition }: AccessTarget): 'never' | 'sometimes' {
  const { group, resource } = definition;
  if (resource === 'pods' && group === '') return 'sometimes';
  return resource === 'resourceslices' && group === 'resource.k8s.io' ? 'sometimes' : 'never';
}

/** An agent may read all Nodes and write its own. Other subresources than status give access to other agents. */
function mayOnNode({ user, verb, target }: Request, lookup: ObjectLookup): boolean {
  if (target.subresource !== '' && target.subresource !== 'status') return false;
  if (READ_VERBS.has(verb)) return true;
  // The name is in the body, so admission checks it.
  if (verb === 'create') return target.subresource === '' && (target.name === '' || target.name === nodeOfUser(user));
  if (verb === 'delete') return target.subresource === '' && actsAsCustodian(user, target.name, lookup);
  return (verb === 'update' || verb === 'patch') && actsFor(user, target.name, lookup);
}

/** An agent must not delete its own Node, as in Kubernetes. */
function actsAsCustodian(user: Request['user'], node: string, lookup: ObjectLookup): boolean {
  return nodeOfUser(user) !== node && actsFor(user, node, lookup);
}

function mayPod({ user, verb, target, object, fieldSelector }: Request, lookup: ObjectLookup): boolean {
  if (verb === 'list' || verb === 'watch') {
    return target.subresource === '' && actsFor(user, selectedValue(fieldSelector, 'spec.nodeName'), lookup);
  }
  if (POD_SUBRESOURCE_VERBS[target.subresource]?.includes(verb) !== true) return false;
  // A mirror pod; admission checks it.
  if (verb === 'create' && target.subresource === '') return true;
  // The object of an eviction is not a pod.
  const sent = target.subresource === 'eviction' ? undefined : (object as KubeObject | undefined);
  const stored = sent ?? lookup.get('pods', target.namespace, target.name);
  // The object does not exist. The response is NotFound, which reveals nothing.
  if (stored === undefined) return true;
  return actsFor(user, (stored as Pod).spec?.nodeName, lookup);
}

/** An agent may request tokens for the service accounts of its pods. Admission checks pod, audience and lifetime. */
function mayServiceAccount({ verb, target }: Request, node: string, lookup: ObjectLookup): boolean {
  const isRead = target.subresource === '' && verb === 'get';
  const isToken = target.subresource === 'token' && verb === 'create';
  if (!isRead && !isToken) return false;
  return podsOf(node, target.namespace, lookup).some((pod) => accountOf(pod) === target.name);
}

function mayLease(request: Request, lookup: ObjectLookup): boolean {
  const { user, verb, target } = request;
  if (target.namespace === NODE_LEASES) {
    if (READ_VERBS.has(verb)) return true;
    // The name is in the body, so admission checks it.
    if (verb === 'create' && target.name === '') return true;
    return LEASE_VERBS.has(verb) && actsFor(user, target.name, lookup);
  }
  if (target.namespace !== CUSTODIAN_LEASES) return false;
  const own = custodianLeaseOf(user);
  if (own === undefined) return false;
  if (verb === 'create') return target.name === '' || target.name === own;
  const name = target.name === '' ? selectedName(request.fieldSelector) : target.name;
  return name === own && (READ_VERBS.has(verb) || verb === 'update' || verb === 'patch');
}

function mayClaim({ verb, target }: Request): boolean {
  if (target.subresource === '') return verb === 'get';
  return target.subresource === 'status' && (verb === 'get' || verb === 'update' || verb === 'patch');
}

/** An agent may read all volumes. It may delete a released volume whose folder is on its node, together with the folder. */
function mayVolume({ verb, target }: Request, node: string, lookup: ObjectLookup): boolean {
  if (target.subresource !== '') return false;
  if (READ_VERBS.has(verb)) return true;
  if (verb !== 'delete') return false;
  const stored: PersistentVolume | undefined = lookup.get('persistentvolumes', '', target.name);
  return stored !== undefined && isForDeletionOn(stored, node);
}

function mayResourceSlice({ verb, target, object, fieldSelector }: Request, node: string): boolean {
  if (target.subresource !== '') return false;
  if (verb === 'create') return true;
  if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
    return selectedValue(fieldSelector, 'spec.nodeName') === node;
  }
  // Without the object the rule cannot decide. These verbs are checked again with the object.
  if (object === undefined) return true;
  return (object.spec as JsonObject | undefined)?.nodeName === node;
}

function namesOwn({ verb, target }: Request, node: string): boolean {
  return target.name === node || (verb === 'create' && target.name === '');
}

function readsNamed({ verb, target, fieldSelector }: Request): boolean {
  if (target.subresource !== '') return false;
  if (verb === 'get') return true;
  return (verb === 'list' || verb === 'watch') && (target.name !== '' || selectedName(fieldSelector) !== undefined);
}

function uses(request: Request, node: string, lookup: ObjectLookup, of: (pod: Pod) => ReadonlySet<string>): boolean {
  const { target, fieldSelector } = request;
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  return name !== undefined && podsOf(node, target.namespace, lookup).some((pod) => of(pod).has(name));
}

function podsOf(node: string, namespace: string, lookup: ObjectLookup): readonly Pod[] {
  return [...lookup.podsOnNode(node)].filter((pod) => pod.metadata.namespace === namespace);
}

function accountOf(pod: Pod): string {
  return pod.spec?.serviceAccountName ?? 'default';
}

/** Names of the ConfigMaps that a pod uses. */
function configMapsOf(pod: Pod): ReadonlySet<string> {
  const names = new Set<string>();
  for (const volume of pod.spec?.volumes ?? []) {
    add(names, volume.configMap?.name);
    for (const source of volume.projected?.sources ?? []) add(names, source.configMap?.name);
  }
  for (const container of containersOf(pod)) {
    for (const source of container.envFrom ?? []) add(names, source.configMapRef?.name);
    for (const variable of container.env ?? []) add(names, variable.valueFrom?.configMapKeyRef?.name);
  }
  return names;
}

/** Names of the PersistentVolumeClaims that a pod uses, including those of its ephemeral volumes. */
function claimsOf(pod: Pod): ReadonlySet<string> {
  return new Set(claimsOfPod(pod).filter((name) => name !== ''));
}

/** Names of the ResourceClaims that a pod uses, including those that were made for it from templates. */
function resourceClaimsOf({ spec, status }: Pod): ReadonlySet<string> {
  const names = new Set<string>();
  for (const claim of spec?.resourceClaims ?? []) add(names, claim.resourceClaimName);
  for (const made of status?.resourceClaimStatuses ?? []) add(names, made.resourceClaimName);
  return names;
}

function containersOf(pod: Pod): readonly (Container | EphemeralContainer)[] {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function add(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') names.add(name);
}
