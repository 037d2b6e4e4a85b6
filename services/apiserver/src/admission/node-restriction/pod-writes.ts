import { apiReferenceOf, equalJson, MIRROR_ANNOTATION, type Node, NODES, type Pod, PODS } from '@gantry/objects';
import { refuse } from '../check/refuse.ts';
import { type AgentRequest, isActedFor, writtenName } from './agent-request.ts';

/** Checks that an agent writes only pods of its node: mirror pods, status, deletes, evictions. Messages are those of Kubernetes. */
export async function checkPodWrite(agent: AgentRequest): Promise<void> {
  const { request, node } = agent;
  switch (`${request.operation} ${request.subresource}`) {
    case 'create ':
      await checkMirrorPod(agent, request.object);
      return;
    case 'delete ':
      if (isBoundHere(agent, request.old as Pod)) return;
      throw refuse(request, `node "${node}" can only delete pods with spec.nodeName set to itself`);
    case 'update status':
      checkPodStatus(agent, request.object, request.old as Pod);
      return;
    case 'create eviction': {
      const pod = await agent.reader.find<Pod>(PODS, request.namespace, writtenName(request));
      // The eviction of a pod that does not exist fails with NotFound later.
      if (pod === undefined || isBoundHere(agent, pod)) return;
      throw refuse(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
    }
    default:
      throw refuse(request, `unexpected operation "${request.operation}" on pods/${request.subresource} by a node`);
  }
}

function isBoundHere(agent: AgentRequest, pod: Pod): boolean {
  return isActedFor(agent, pod.spec?.nodeName);
}

function checkPodStatus(agent: AgentRequest, pod: Pod, old: Pod): void {
  const { request, node } = agent;
  if (!isBoundHere(agent, old)) {
    throw refuse(request, `node "${node}" can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!equalJson(pod.metadata.labels ?? {}, old.metadata.labels ?? {})) {
    throw refuse(request, `node "${node}" cannot update labels through pod status`);
  }
  const claims = ({ status }: Pod): unknown[] => [
    status?.resourceClaimStatuses ?? [],
    status?.extendedResourceClaimStatus ?? null,
  ];
  if (!equalJson(claims(pod), claims(old))) {
    throw refuse(request, `node "${node}" cannot update resource claim statues`);
  }
}

async function checkMirrorPod({ request, node, reader }: AgentRequest, pod: Pod): Promise<void> {
  const no = (why: string) => refuse(request, why);
  if (pod.metadata.annotations?.[MIRROR_ANNOTATION] === undefined) {
    throw no(`pod does not have "${MIRROR_ANNOTATION}" annotation, node "${node}" can only create mirror pods`);
  }
  if (pod.spec?.nodeName !== node) {
    throw no(`node "${node}" can only create pods with spec.nodeName set to itself`);
  }
  const [owner, ...more] = pod.metadata.ownerReferences ?? [];
  if (more.length > 0) throw no(`node "${node}" can only create pods with a single owner reference set to itself`);
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw no(`node "${node}" can only create pods with an owner reference set to itself`);
  }
  if (owner.controller !== true) {
    throw no(`node "${node}" can only create pods with a controller owner reference set to itself`);
  }
  if (owner.blockOwnerDeletion === true) {
    throw no(`node "${node}" must not set blockOwnerDeletion on an owner reference`);
  }
  const uid = (await reader.find<Node>(NODES, '', node))?.metadata.uid ?? '';
  if (owner.uid !== uid) throw no(`node ${node} UID mismatch: expected ${owner.uid} got ${uid}`);
  const reference = apiReferenceOf(pod);
  if (reference !== undefined) throw no(`node "${node}" can not create pods that reference ${reference}`);
}
