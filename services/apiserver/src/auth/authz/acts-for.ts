import {
  ENGINE_EXTRA,
  ENGINE_LABEL,
  type KubeObject,
  type Lease,
  NODE_USER_PREFIX,
  NODES_GROUP,
} from '@gantry/objects';
import type { User } from '../user.ts';
import type { ObjectLookup } from './object-lookup.ts';

export const NODE_LEASES = 'kube-node-lease';
export const CUSTODIAN_LEASES = 'kube-system';
const CUSTODIAN_LEASE_PREFIX = 'gantry-host-';
/** How long the creation of a Node counts as a heartbeat. An agent creates its Lease within one second. */
const REGISTRATION_SECONDS = 10;

/** The node of an agent; undefined for other users. As in Kubernetes, the user needs the name prefix and the group. */
export function nodeOfUser({ name, groups }: User): string | undefined {
  if (!name.startsWith(NODE_USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  const node = name.slice(NODE_USER_PREFIX.length);
  return node === '' ? undefined : node;
}

/** The engine in an agent's certificate. */
export function engineOfUser(user: User): string | undefined {
  return user.extra[ENGINE_EXTRA]?.[0];
}

/** The name of the custodian Lease of the user's engine; undefined without an engine. */
export function custodianLeaseOf(user: User): string | undefined {
  const engine = engineOfUser(user);
  return engine === undefined ? undefined : `${CUSTODIAN_LEASE_PREFIX}${engine}`;
}

/**
 * Whether an agent may act for a node. It may act for its own node, and as the custodian of its engine for other nodes. The custodian
 * holds the Lease of the engine in its certificate. It may act for nodes of the same engine whose own Lease has expired.
 */
export function actsFor(user: User, node: string | undefined, lookup: ObjectLookup): boolean {
  if (node === undefined || node === '') return false;
  return nodeOfUser(user) === node || isCustodianOf(user, node, lookup);
}

/** Whether the user may act for the node as the custodian of its engine. */
export function isCustodianOf(user: User, node: string, lookup: ObjectLookup): boolean {
  const own = nodeOfUser(user);
  const engine = engineOfUser(user);
  const leaseName = custodianLeaseOf(user);
  if (own === undefined || own === node || engine === undefined || leaseName === undefined) return false;
  const lease: Lease | undefined = lookup.get('leases', CUSTODIAN_LEASES, leaseName);
  if (lease?.spec?.holderIdentity !== own) return false;
  const object = lookup.get('nodes', '', node);
  if (object?.metadata.labels?.[ENGINE_LABEL] !== engine) return false;
  return lookup.hasExpired(lookup.get('leases', NODE_LEASES, node) ?? leaseOfRegistration(object));
}

/**
 * A Lease that stands for the creation of the Node. A new Node may have no Lease yet, because the garbage collector may delete the Lease
 * of an earlier Node of this name after the new Node was created.
 */
function leaseOfRegistration({ metadata: { name = '', creationTimestamp } }: KubeObject): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: NODE_LEASES, name },
    spec: { renewTime: creationTimestamp, leaseDurationSeconds: REGISTRATION_SECONDS },
  };
}
