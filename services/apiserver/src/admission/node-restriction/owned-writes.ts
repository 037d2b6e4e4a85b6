import { equalJson, type Lease, type PersistentVolumeClaim, type ResourceSlice } from '@gantry/objects';
import { CUSTODIAN_LEASES, custodianLeaseOf, NODE_LEASES } from '../../auth/authz/acts-for.ts';
import { refuse } from '../check/refuse.ts';
import { type AgentRequest, isActedFor, writtenName } from './agent-request.ts';

/** Checks writes of Leases: the heartbeat of the agent, and the custodian Lease of its engine. */
export function checkLeaseWrite(agent: AgentRequest): void {
  const { request, node } = agent;
  const name = writtenName(request);
  if (request.namespace === CUSTODIAN_LEASES && name === custodianLeaseOf(request.user)) {
    checkCustodianLease(agent, request.object, request.old);
    return;
  }
  if (request.namespace !== NODE_LEASES) {
    throw refuse(request, `can only access leases in the "${NODE_LEASES}" system namespace`);
  }
  if (name === node) return;
  if (request.operation === 'delete' && isActedFor(agent, name)) return;
  throw refuse(request, 'can only access node lease with the same name as the requesting node');
}

/**
 * An agent may hold the custodian Lease only for itself, and give up its own. It may take it from another holder only after the Lease has
 * expired, or that of the holder's Node.
 */
function checkCustodianLease({ request, node, lookup }: AgentRequest, lease: Lease, old: Lease | undefined): void {
  if (request.operation === 'delete') throw refuse(request, `node "${node}" is not allowed to delete this lease`);
  const holder = old?.spec?.holderIdentity ?? '';
  const wanted = lease.spec?.holderIdentity ?? '';
  if (wanted === '' && holder === node) return;
  if (wanted !== node) {
    throw refuse(request, `node "${node}" can only hold the custodian's lease for itself`);
  }
  if (holder === '' || holder === node || lookup.hasExpired(old)) return;
  if (lookup.hasExpired(lookup.get('leases', NODE_LEASES, holder))) return;
  throw refuse(request, `node "${node}" cannot take the custodian's lease before that of "${holder}" has expired`);
}

/** Checks that an agent writes only the CSINode of its own node. */
export function checkCsiNodeWrite({ request, node }: AgentRequest): void {
  if (writtenName(request) === node) return;
  throw refuse(request, 'can only access CSINode with the same name as the requesting node');
}

/** Checks that a ResourceSlice names the agent's own node, before and after the write. */
export function checkResourceSliceWrite({ request, node }: AgentRequest): void {
  const named = (slice: unknown) => (slice as Partial<ResourceSlice> | undefined)?.spec?.nodeName === node;
  const { operation, object, old } = request;
  if (named(object) && (old === undefined || named(old))) return;
  throw refuse(request, `can only ${operation} ResourceSlice with the same NodeName as the requesting node`);
}

/** Checks that an agent changes only sizes and conditions in the status of a PersistentVolumeClaim. */
export function checkClaimStatus({ request, node }: AgentRequest): void {
  if (request.operation !== 'update' || request.subresource !== 'status') {
    throw refuse(request, `unexpected operation "${request.operation}" on persistentvolumeclaims by a node`);
  }
  if (equalJson(withoutSizes(request.object), withoutSizes(request.old))) return;
  throw refuse(
    request,
    `node "${node}" is not allowed to update fields other than status.capacity and status.conditions`,
  );
}

function withoutSizes(of: unknown): object {
  const { metadata, status, ...rest } = of as PersistentVolumeClaim;
  const { resourceVersion: _, managedFields: _fields, ...kept } = metadata;
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    ...others
  } = status ?? {};
  return { ...rest, metadata: kept, status: others };
}
