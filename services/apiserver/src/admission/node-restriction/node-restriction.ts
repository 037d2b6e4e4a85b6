import { NODES_GROUP } from '@gantry/objects';
import { nodeOfUser } from '../../auth/authz/acts-for.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import type { Access, AdmissionCheck } from '../check/admission-check.ts';
import { refuse } from '../check/refuse.ts';
import type { AgentRequest } from './agent-request.ts';
import { checkNodeWrite } from './node-writes.ts';
import { checkClaimStatus, checkCsiNodeWrite, checkLeaseWrite, checkResourceSliceWrite } from './owned-writes.ts';
import { checkPodWrite } from './pod-writes.ts';
import { checkTokenRequest } from './token-requests.ts';

type Rule = (agent: AgentRequest) => void | Promise<void>;

const RULES: Readonly<Record<string, Rule>> = {
  '/nodes': checkNodeWrite,
  '/pods': checkPodWrite,
  '/persistentvolumeclaims': checkClaimStatus,
  '/serviceaccounts': (agent) => (agent.request.subresource === 'token' ? checkTokenRequest(agent) : undefined),
  'coordination.k8s.io/leases': checkLeaseWrite,
  'storage.k8s.io/csinodes': checkCsiNodeWrite,
  'resource.k8s.io/resourceslices': checkResourceSliceWrite,
};

/**
 * Kubernetes' NodeRestriction: agents may write only objects of their own node, and no content that would give them more rights.
 * Authorisation (`auth/authz/node-rules.ts`) checks names; this plugin checks the content.
 */
export function nodeRestriction(lookup: ObjectLookup, access: Access): AdmissionCheck {
  return {
    name: 'NodeRestriction',
    mutate: async (request, reader) => {
      const { definition, user } = request;
      if (!user.groups.includes(NODES_GROUP)) return;
      const rule = RULES[`${definition.group}/${definition.resource}`];
      if (rule === undefined) return;
      const node = nodeOfUser(user);
      if (node === undefined) throw refuse(request, `could not determine node from user "${user.name}"`);
      await rule({ request, node, reader, lookup, access });
    },
  };
}
