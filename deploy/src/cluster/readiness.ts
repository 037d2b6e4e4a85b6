import { DEPLOYMENTS, type Lease, LEASES, type Node, nodeAddressOf, NODES, StatusError } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import type { RunningAgent } from './running-agents.ts';
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

/** What nodes are to be there. */
export interface WantedNodes {
  readonly count: number;
  /** The range of the pods of this engine. */
  readonly podCidr: string;
  /** The agents of the cluster that run on this engine. */
  readonly agents: () => Promise<readonly RunningAgent[]>;
}

/**
 * Whether at least as many nodes as wanted are Ready, among them one of each running agent. A Node stays Ready for some seconds after its
 * agent has ended: what it says, its address above all, may be of a container that another one has replaced.
 */
export async function lookAtNodes(api: HttpClient, wanted: WantedNodes, signal: AbortSignal): Promise<Look<number>> {
  return await orMissing(async () => {
    const { items } = await api.list(NODES, {}, signal);
    const ready = items.filter((node) => isTrue(node.status?.conditions, 'Ready'));
    if (ready.length < wanted.count) {
      const waiting = items.filter((node) => !ready.includes(node)).map((node) => node.metadata.name);
      return {
        done: false,
        missing: `${ready.length} of ${wanted.count} nodes Ready${waiting.length > 0 ? `, not yet: ${waiting.join(', ')}` : ''}`,
      };
    }
    const { items: leases } = await api.list(LEASES, { namespace: 'kube-node-lease' }, signal);
    const waiting = agentsWithoutNode(await wanted.agents(), { podCidr: wanted.podCidr, nodes: ready, leases });
    if (waiting.length === 0) return { done: true, value: ready.length };
    return { done: false, missing: `not registered yet: ${waiting.map(({ name }) => name).join(', ')}` };
  });
}

/** Agents that have not registered since they started: a Node has an agent's address and, from its registration on, its Lease. */
export function agentsWithoutNode(
  agents: readonly RunningAgent[],
  {
    podCidr,
    nodes,
    leases,
  }: { readonly podCidr: string; readonly nodes: readonly Node[]; readonly leases: readonly Lease[] },
): readonly RunningAgent[] {
  const renewals = new Map(leases.map(({ metadata, spec }) => [metadata.name, Date.parse(spec?.renewTime ?? '')]));
  const isOf = (node: Node, agent: RunningAgent) => {
    const wanted = nodeAddressOf(podCidr, agent.address) ?? agent.address;
    return node.status?.addresses?.some(({ type, address }) => type === 'InternalIP' && address === wanted) === true;
  };
  return agents.filter(
    (agent) => !nodes.some((node) => isOf(node, agent) && (renewals.get(node.metadata.name) ?? 0) >= agent.startedAt),
  );
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
