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
/** For so long the registration of a Node counts as a heartbeat: an agent makes its Lease within a second. */
const REGISTRATION_SECONDS = 10;

/** The node that a user is the agent of; undefined for other users. Kubernetes' rule: the prefix and the group. */
export function nodeOfUser({ name, groups }: User): string | undefined {
  if (!name.startsWith(NODE_USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  const node = name.slice(NODE_USER_PREFIX.length);
  return node === '' ? undefined : node;
}

/** The engine in an agent's certificate. */
export function engineOfUser(user: User): string | undefined {
  return user.extra[ENGINE_EXTRA]?.[0];
}

/** The Lease for whose holder the agents of this user's engine campaign; undefined without an engine. */
export function custodianLeaseOf(user: User): string | undefined {
  const engine = engineOfUser(user);
  return engine === undefined ? undefined : `${CUSTODIAN_LEASE_PREFIX}${engine}`;
}

/**
 * Whether an agent acts for a node: for its own, and as the custodian of its engine for another one. A custodian holds the Lease of
 * the engine in its certificate, and acts for nodes of the same engine whose own Lease has run out.
 */
export function actsFor(user: User, node: string | undefined, lookup: ObjectLookup): boolean {
  if (node === undefined || node === '') return false;
  return nodeOfUser(user) === node || isCustodianOf(user, node, lookup);
}

/** Whether the user acts for the node as the custodian of its engine. */
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
 * An agent that has registered its Node lives, though there is no Lease yet: that of an earlier Node may be collected after the new one is
 * registered.
 */
function leaseOfRegistration({ metadata: { name = '', creationTimestamp } }: KubeObject): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: NODE_LEASES, name },
    spec: { renewTime: creationTimestamp, leaseDurationSeconds: REGISTRATION_SECONDS },
  };
}
