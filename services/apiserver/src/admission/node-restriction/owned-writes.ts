import { equalJson, type Lease, type PersistentVolumeClaim, type ResourceSlice } from '@gantry/objects';
import { CUSTODIAN_LEASES, custodianLeaseOf, NODE_LEASES } from '../../auth/authz/acts-for.ts';
import { refuse } from '../check/refuse.ts';
import { type AgentRequest, isActedFor, writtenName } from './agent-request.ts';

/** The agent's heartbeat, and the Lease of its engine's custodian. */
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

/** An agent holds it for itself alone, and takes it from another holder only when that one's time is up. */
function checkCustodianLease({ request, node, lookup }: AgentRequest, lease: Lease, old: Lease | undefined): void {
  if (request.operation === 'delete') throw refuse(request, `node "${node}" is not allowed to delete this lease`);
  if (lease.spec?.holderIdentity !== node) {
    throw refuse(request, `node "${node}" can only hold the custodian's lease for itself`);
  }
  const holder = old?.spec?.holderIdentity ?? '';
  if (holder === '' || holder === node || lookup.hasExpired(old)) return;
  throw refuse(request, `node "${node}" cannot take the custodian's lease before that of "${holder}" has expired`);
}

/** The CSINode of the agent's own node. */
export function checkCsiNodeWrite({ request, node }: AgentRequest): void {
  if (writtenName(request) === node) return;
  throw refuse(request, 'can only access CSINode with the same name as the requesting node');
}

/** ResourceSlices that name the agent's own node, before and after. */
export function checkResourceSliceWrite({ request, node }: AgentRequest): void {
  const named = (slice: unknown) => (slice as Partial<ResourceSlice> | undefined)?.spec?.nodeName === node;
  const { operation, object, old } = request;
  if (named(object) && (old === undefined || named(old))) return;
  throw refuse(request, `can only ${operation} ResourceSlice with the same NodeName as the requesting node`);
}

/** Sizes and conditions of a claim's status, nothing else of it. */
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
