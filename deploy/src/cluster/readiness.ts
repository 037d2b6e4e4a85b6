import { DEPLOYMENTS, type Lease, LEASES, type Node, nodeAddressOf, NODES, StatusError } from '@gantry/objects';
import { errorMessage, raceAbort } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import type { Shell } from '../machine/shell.ts';
import { findRunningAgents, type RunningAgent } from './running-agents.ts';
import type { Look } from './wait-until.ts';

/** Whether the API responds and is ready. */
export async function lookAtApi(api: HttpClient, signal: AbortSignal): Promise<Look<void>> {
  try {
    await api.raw({ method: 'GET', path: '/readyz' }, signal);
    return { done: true, value: undefined };
  } catch (error) {
    return { done: false, missing: errorMessage(error).split('\n')[0] ?? '' };
  }
}

/** The nodes that a start waits for. */
export interface WantedNodes {
  /** Of this project, each with an agent that runs on this engine. */
  readonly count: number;
  /** The range of the pods of this engine. */
  readonly podCidr: string;
  /** The agents of the project that run on this engine. */
  readonly agents: () => Promise<readonly RunningAgent[]>;
}

/** `count` nodes of a cluster. */
export function wantedNodes(
  shell: Shell,
  { clusterId, podCidr }: { readonly clusterId: string; readonly podCidr: string },
  count: number,
): WantedNodes {
  return { count, podCidr, agents: () => findRunningAgents(shell, clusterId) };
}

/** Nodes, and the Leases by which they are alive. */
interface SeenNodes {
  readonly nodes: readonly Node[];
  readonly leases: readonly Lease[];
}

/** Whether at least as many nodes as wanted are Ready, among them one of each agent. */
export async function lookAtNodes(api: HttpClient, wanted: WantedNodes, signal: AbortSignal): Promise<Look<number>> {
  const look = await orMissing(async (): Promise<Look<SeenNodes>> => {
    const { items: nodes } = await api.list(NODES, {}, signal);
    const { items: leases } = await api.list(LEASES, { namespace: 'kube-node-lease' }, signal);
    return { done: true, value: { nodes, leases } };
  });
  if (!look.done) return look;
  // Of no interest before: each look at containers starts a process.
  if (readyOf(look.value).length < wanted.count) return judgeNodes(look.value, wanted, []);
  try {
    return judgeNodes(look.value, wanted, await raceAbort(wanted.agents(), signal));
  } catch (error) {
    if (!signal.aborted) throw error;
    return { done: false, missing: 'the engine does not answer' };
  }
}

const readyOf = ({ nodes }: SeenNodes) => nodes.filter((node) => isTrue(node.status?.conditions, 'Ready'));

/**
 * A Node stays Ready for some seconds after its agent has ended: what it says, its address above all, may be of a container that another
 * one has replaced.
 */
export function judgeNodes(
  seen: SeenNodes,
  { count, podCidr }: Pick<WantedNodes, 'count' | 'podCidr'>,
  agents: readonly RunningAgent[],
): Look<number> {
  const nodes = readyOf(seen);
  if (nodes.length < count) {
    const waiting = seen.nodes.filter((node) => !nodes.includes(node)).map((node) => node.metadata.name);
    const which = waiting.length > 0 ? `, not yet: ${waiting.join(', ')}` : '';
    return { done: false, missing: `${nodes.length} of ${count} nodes Ready${which}` };
  }
  if (agents.length < count) return { done: false, missing: `${agents.length} of ${count} agents run` };
  const waiting = agentsWithoutNode(agents, { podCidr, nodes, leases: seen.leases });
  if (waiting.length === 0) return { done: true, value: nodes.length };
  return { done: false, missing: `not registered and Ready yet: ${waiting.map(({ name }) => name).join(', ')}` };
}

/** Agents that have not registered since they started: a Node has an agent's address and, from its registration on, its Lease. */
function agentsWithoutNode(
  agents: readonly RunningAgent[],
  { podCidr, nodes, leases }: SeenNodes & Pick<WantedNodes, 'podCidr'>,
): readonly RunningAgent[] {
  const renewals = new Map(leases.map(({ metadata, spec }) => [metadata.name, Date.parse(spec?.renewTime ?? '')]));
  return agents.filter(
    (agent) =>
      !nodes.some(
        (node) => isNodeOf(node, agent, podCidr) && (renewals.get(node.metadata.name) ?? 0) >= agent.startedAt,
      ),
  );
}

/** Whether a Node has the address of an agent. `podCidr` is the range of the pods of its engine. */
export function isNodeOf(node: Node, agent: RunningAgent, podCidr: string): boolean {
  const wanted = nodeAddressOf(podCidr, agent.address) ?? agent.address;
  return node.status?.addresses?.some(({ type, address }) => type === 'InternalIP' && address === wanted) === true;
}

/** Whether a Deployment's current generation is fully available. */
export async function lookAtDeployment(
  api: HttpClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Look<string>> {
  return await orMissing(async () => {
    const deployment = await api.get(DEPLOYMENTS, { namespace, name }, signal);
    const wanted = deployment.spec?.replicas ?? 1;
    const available = deployment.status?.availableReplicas ?? 0;
    const updated = deployment.status?.updatedReplicas ?? 0;
    const seen = (deployment.status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0);
    const text = `${available}/${wanted} available`;
    const done = seen && updated === wanted && available === wanted;
    return done ? { done, value: text } : { done, missing: text };
  });
}

async function orMissing<T>(look: () => Promise<Look<T>>): Promise<Look<T>> {
  try {
    return await look();
  } catch (error) {
    // While the API starts, any error is retried and shown as what is missing.
    const message = errorMessage(error).split('\n')[0] ?? '';
    return { done: false, missing: error instanceof StatusError ? message : `the API does not answer (${message})` };
  }
}

function isTrue(conditions: readonly { type: string; status: string }[] | undefined, type: string): boolean {
  return (conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
}
