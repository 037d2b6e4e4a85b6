import { DRAINING_ANNOTATION, ENGINE_LABEL, equalJson, isAgentsLabel, type Node } from '@gantry/objects';
import { engineOfUser } from '../../auth/authz/acts-for.ts';
import { refuse } from '../check/refuse.ts';
import { type AgentRequest, isActedFor, writtenName } from './agent-request.ts';

type Labels = Readonly<Record<string, string>> | null | undefined;

/** The keys whose value differs between two sets of labels, sorted. */
export function modifiedLabels(labels: Labels, old: Labels): readonly string[] {
  const keys = new Set([...Object.keys(labels ?? {}), ...Object.keys(old ?? {})]);
  return [...keys].filter((key) => labels?.[key] !== old?.[key]).sort();
}

/** Checks that an agent writes only its own Node, and no taints, owners or restricted labels. Messages are those of Kubernetes. */
export function checkNodeWrite(agent: AgentRequest): void {
  const { request, node } = agent;
  const name = writtenName(request);
  if (name !== node) {
    checkOtherNode(agent, name);
    return;
  }
  const object = request.object as Node;
  if (request.operation === 'create') {
    const refused = refusedLabels(agent, object, undefined);
    if (refused.length > 0) {
      throw refuse(request, `node "${node}" is not allowed to set the following labels: ${refused.join(', ')}`);
    }
    if (object.spec?.configSource !== undefined) {
      throw refuse(request, `node "${node}" is not allowed to create pods with a non-nil configSource`);
    }
  }
  checkRange(agent, object, request.operation === 'update' ? request.old : undefined);
  if (request.operation === 'update') checkOwnUpdate(agent, object, request.old as Node);
}

/** Unlike in Kubernetes, an agent must not set the pod range of its Node: other hosts route packets by the range. */
function checkRange({ request, node }: AgentRequest, { spec }: Node, old: Node | undefined): void {
  const ranges = [spec?.podCIDR ?? '', ...(spec?.podCIDRs ?? [])].filter((range) => range !== '');
  const before = [old?.spec?.podCIDR ?? '', ...(old?.spec?.podCIDRs ?? [])].filter((range) => range !== '');
  if (!equalJson(ranges, before)) throw refuse(request, `node "${node}" is not allowed to modify podCIDRs`);
}

function checkOwnUpdate(agent: AgentRequest, object: Node, old: Node): void {
  const { request, node } = agent;
  const source = object.spec?.configSource;
  if (source !== undefined && !equalJson(source, old.spec?.configSource)) {
    throw refuse(request, `node "${node}" is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!equalJson(object.spec?.taints ?? [], old.spec?.taints ?? [])) {
    throw refuse(request, `node "${node}" is not allowed to modify taints`);
  }
  if (!equalJson(object.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    throw refuse(request, `node "${node}" is not allowed to modify ownerReferences`);
  }
  const refused = refusedLabels(agent, object, old);
  if (refused.length > 0) throw refuse(request, `is not allowed to modify labels: ${refused.join(', ')}`);
}

/** The labels that the agent must not change. The engine label must have the engine of its certificate, since custodians use it. */
function refusedLabels({ request }: AgentRequest, { metadata }: Node, old: Node | undefined): readonly string[] {
  return modifiedLabels(metadata.labels, old?.metadata.labels).filter((key) => {
    if (key !== ENGINE_LABEL) return !isAgentsLabel(key);
    const engine = engineOfUser(request.user);
    return engine === undefined || metadata.labels?.[key] !== engine;
  });
}

/** A custodian may cordon and remove a Node whose agent is gone. It may change nothing else of it. */
function checkOtherNode(agent: AgentRequest, name: string): void {
  const { request, node } = agent;
  const refusal = refuse(request, `node "${node}" is not allowed to modify node "${name}"`);
  if (request.operation === 'create' || !isActedFor(agent, name)) throw refusal;
  if (request.operation !== 'update') return;
  if (request.subresource !== '') throw refusal;
  if (!equalJson(withoutDrain(request.object), withoutDrain(request.old as Node))) {
    throw refuse(request, `node "${node}" is not allowed to modify more of node "${name}" than its draining`);
  }
}

function withoutDrain({ metadata, spec, ...rest }: Node): object {
  const { managedFields: _, resourceVersion: _version, annotations, ...kept } = metadata;
  const { [DRAINING_ANNOTATION]: _drain, ...others } = annotations ?? {};
  const { unschedulable: _cordon, ...keptSpec } = spec ?? {};
  return { ...rest, metadata: { ...kept, annotations: others }, spec: keptSpec };
}
