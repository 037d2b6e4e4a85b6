import { DEPLOYMENTS, NODES, StatusError } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
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

/** Whether at least `wanted` nodes exist and all nodes are Ready. */
export async function lookAtNodes(api: HttpClient, wanted: number, signal: AbortSignal): Promise<Look<number>> {
  return await orMissing(async () => {
    const { items } = await api.list(NODES, {}, signal);
    const ready = items.filter((node) => isTrue(node.status?.conditions, 'Ready'));
    if (ready.length >= wanted) return { done: true, value: ready.length };
    const waiting = items.filter((node) => !ready.includes(node)).map((node) => node.metadata.name);
    return {
      done: false,
      missing: `${ready.length} of ${wanted} nodes Ready${waiting.length > 0 ? `, not yet: ${waiting.join(', ')}` : ''}`,
    };
  });
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
