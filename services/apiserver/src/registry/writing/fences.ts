import type { ResourceDefinition } from '@gantry/apimachinery';
import type { LeaseFence } from '@gantry/client';
import { LEASES, StatusError } from '@gantry/objects';
import type { RequestContext, WriterFence } from '../contract/registry.ts';
import type { RegistryDependencies } from '../contract/dependencies.ts';
import { groupResource } from '../contract/target.ts';

/** The services that may write only as leader, with their election keys. */
const ELECTION_KEYS: Readonly<Record<string, string>> = {
  'system:kube-controller-manager': '/gantry/elections/kube-controller-manager',
  'system:kube-scheduler': '/gantry/elections/kube-scheduler',
};

/** Resources that a standby may also create, since it requests its own certificate. */
const UNFENCED_CREATES: ReadonlySet<string> = new Set(['certificates.k8s.io/certificatesigningrequests']);

/** Whether the writer was elected by a Lease, and not in etcd. */
export function isLeaseFence(fence: WriterFence | undefined): fence is LeaseFence {
  return fence !== undefined && 'holder' in fence;
}

/** Throws unless the user may read the Lease that its fence names: whether a write is refused shows what is in it. */
export function authoriseFence(
  { authorizer }: Pick<RegistryDependencies, 'authorizer'>,
  context: RequestContext,
): void {
  const { fence } = context;
  if (!isLeaseFence(fence)) return;
  const { namespace, name } = fence;
  const target = { definition: LEASES, namespace, name, subresource: '' };
  authorizer.authorize(context, 'get', target, undefined);
}

/**
 * The fence of a write. Throws when a service that must be the leader has no fence or the fence of another component, and when its cache
 * has not reached its own election yet.
 */
export function fenceOf(
  context: RequestContext,
  definition: ResourceDefinition,
  name: string,
  verb: 'create' | 'update' | 'patch' | 'delete',
): WriterFence | undefined {
  const { fence, user } = context;
  const ownKey = Object.hasOwn(ELECTION_KEYS, user.name) ? ELECTION_KEYS[user.name] : undefined;
  const refuse = (why: string) => StatusError.forbidden(groupResource(definition), name, why);
  if (fence === undefined || isLeaseFence(fence)) {
    if (ownKey === undefined || !definition.stored) return fence;
    if (verb === 'create' && UNFENCED_CREATES.has(`${definition.group}/${definition.resource}`)) return fence;
    throw refuse(`User "${user.name}" may write only as the leader: the request carries no fence`);
  }
  if (ownKey === undefined)
    throw refuse(`User "${user.name}" takes part in no election: the request may carry no fence`);
  if (fence.electionKey !== ownKey) {
    throw refuse(`User "${user.name}" is not elected by ${fence.electionKey}: its fence is ${ownKey}`);
  }
  if (fence.cacheRevision < fence.epoch) {
    throw refuse(
      `the leader's cache is at revision ${fence.cacheRevision}, before its own election at ${fence.epoch}: it may not act yet`,
    );
  }
  return { electionKey: fence.electionKey, epoch: fence.epoch, incarnation: fence.incarnation };
}

/** The error for a write whose fence did not hold at the commit. */
export function fencedError(definition: ResourceDefinition, name: string, fence: WriterFence | undefined): StatusError {
  const term = isLeaseFence(fence)
    ? `"${fence.holder}" in term ${fence.transitions} of the Lease ${fence.namespace}/${fence.name}`
    : `epoch ${fence?.epoch}`;
  const why = `the leadership of ${term} has ended: the write was refused`;
  return StatusError.leadershipEnded(groupResource(definition), name, why);
}
