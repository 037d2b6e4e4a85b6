import type { JsonObject, KubeObject, Pod } from '@gantry/objects';
import { selectedName, selectedValue } from './field-selection.ts';
import type { ObjectLookup } from './object-lookup.ts';
import { configMapsOf, secretsOf } from './pod-references.ts';
import type { AccessTarget, Request } from './request.ts';

export const NODE_USER_PREFIX = 'system:node:';
/** Names the Docker engine of a Node: the first 12 characters of its id. Agents of one engine stand in for each other. */
export const ENGINE_LABEL = 'gantry.dev/engine';

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const CUSTODIAN_LEASE_PREFIX = 'gantry-host-';

/**
 * What an agent may do: its own Node, the pods bound to it, what those pods use, its Lease, Events. The custodian acts for
 * dead agents of its host, so Nodes of the same engine, and the pods on them, count as its own.
 */
export function mayNode(request: Request, lookup: ObjectLookup): boolean {
  const { verb, target } = request;
  const { group, resource } = target.definition;
  const node = request.user.name.slice(NODE_USER_PREFIX.length);
  switch (`${group}/${resource}`) {
    case '/nodes':
      return mayOnNode(request, node, lookup);
    case '/pods':
      return mayPod(request, node, lookup);
    case '/events':
    case 'events.k8s.io/events':
      return verb === 'create' || verb === 'patch' || verb === 'update';
    case '/services':
      return READ_VERBS.has(verb) && target.subresource === '';
    case '/secrets':
      return readsNamed(request) && uses(request, node, lookup, secretsOf);
    case '/configmaps':
      return readsNamed(request) && uses(request, node, lookup, configMapsOf);
    case '/serviceaccounts':
      return mayServiceAccount(request, node, lookup);
    case 'coordination.k8s.io/leases':
      return mayLease(request, node, lookup);
    default:
      return false;
  }
}

/**
 * Whether the rules for agents look at the object of a write. 'sometimes': they are asked without it before the body is read, and
 * again with it. 'always': nothing can be said without it.
 */
export function objectReadByNodeRules({ definition }: AccessTarget): 'never' | 'sometimes' | 'always' {
  switch (`${definition.group}/${definition.resource}`) {
    case '/nodes':
    case 'coordination.k8s.io/leases':
      return 'always';
    case '/pods':
    case '/serviceaccounts':
      return 'sometimes';
    default:
      return 'never';
  }
}

/** Every Node is read, and its own written; what else there is of Nodes leads through the apiserver to other agents. */
function mayOnNode(request: Request, node: string, lookup: ObjectLookup): boolean {
  const { verb, target, object } = request;
  if (target.subresource !== '' && target.subresource !== 'status') return false;
  return READ_VERBS.has(verb) || actsFor(node, nameOf(request), lookup, object);
}

function mayPod(request: Request, node: string, lookup: ObjectLookup): boolean {
  const { verb, target, object, fieldSelector } = request;
  if (verb === 'list' || verb === 'watch') {
    const selected = selectedValue(fieldSelector, 'spec.nodeName');
    return selected !== undefined && selected !== '' && actsFor(node, selected, lookup);
  }
  const wanted = ['', 'status', 'eviction'].includes(target.subresource);
  const does =
    target.subresource === 'eviction' ? verb === 'create' : ['get', 'update', 'patch', 'delete'].includes(verb);
  if (!wanted || !does || (target.subresource === '' && (verb === 'update' || verb === 'patch'))) return false;
  // The object of an eviction is no pod.
  const sent = target.subresource === 'eviction' ? undefined : (object as unknown as KubeObject | undefined);
  const stored = lookup.get('pods', target.namespace, target.name) ?? sent;
  // Nothing there: the answer is NotFound, which tells nothing.
  if (stored === undefined) return true;
  const bound = (stored as Pod).spec?.nodeName;
  return bound !== undefined && bound !== '' && actsFor(node, bound, lookup);
}

function mayServiceAccount({ verb, target, object }: Request, node: string, lookup: ObjectLookup): boolean {
  const pods = podsOf(node, target.namespace, lookup).filter((pod) => accountOf(pod) === target.name);
  if (target.subresource === '') return verb === 'get' && pods.length > 0;
  if (target.subresource !== 'token' || verb !== 'create') return false;
  const spec = object?.spec as JsonObject | undefined;
  const bound = spec?.boundObjectRef as JsonObject | undefined;
  return object === undefined ? pods.length > 0 : pods.some((pod) => pod.metadata.uid === bound?.uid);
}

function mayLease(request: Request, node: string, lookup: ObjectLookup): boolean {
  const { verb, target } = request;
  const name = nameOf(request) ?? selectedName(request.fieldSelector);
  if (target.namespace === 'kube-node-lease') {
    return READ_VERBS.has(verb) || (name !== undefined && actsFor(node, name, lookup));
  }
  if (target.namespace !== 'kube-system' || name === undefined) return false;
  const engine = engineOf(lookup.get('nodes', '', node));
  if (!name.startsWith(CUSTODIAN_LEASE_PREFIX) || verb === 'delete' || verb === 'deletecollection') return false;
  return engine === undefined || name === `${CUSTODIAN_LEASE_PREFIX}${engine}`;
}

/** Whether it is the agent's own Node, or one of the same engine. `object` is the Node where it is not stored yet. */
function actsFor(own: string, other: string | undefined, lookup: ObjectLookup, object?: JsonObject): boolean {
  if (other === undefined) return false;
  if (own === other) return true;
  const engine = engineOf(lookup.get('nodes', '', own));
  const stored = lookup.get('nodes', '', other) ?? (object as unknown as KubeObject | undefined);
  return engine !== undefined && engineOf(stored) === engine;
}

function engineOf(node: KubeObject | undefined): string | undefined {
  return node?.metadata.labels?.[ENGINE_LABEL];
}

/** The object's name: of the path, or of the body of a create. */
function nameOf({ target, object }: Request): string | undefined {
  if (target.name !== '') return target.name;
  const metadata = object?.metadata as JsonObject | undefined;
  return typeof metadata?.name === 'string' ? metadata.name : undefined;
}

function readsNamed({ verb, target, fieldSelector }: Request): boolean {
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
