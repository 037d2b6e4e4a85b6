import { pause } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { Pod, PodDisruptionBudget } from '@gantry/objects';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Api } from '../api/http.ts';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOfNode } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { setUnschedulable } from './cordon.ts';
import { type DrainStep, newLosses, planDrain } from './drain-plan.ts';
import { Table } from '../shell/table.tsx';

/** A budget that allows no eviction is asked again. */
const RETRY_MS = 5_000;

/** Evicts the pods of a node, after showing what happens to each. */
export function DrainDialog({ name, onClose }: TabProps & { readonly onClose: () => void }): ReactNode {
  const { api, clock } = useConsole();
  /** What somebody has agreed to: pods that come later are not part of it. */
  const [agreed, setAgreed] = useState<readonly DrainStep[]>();
  const [states, setStates] = useState<Readonly<Record<string, string>>>({});
  const { run, isBusy, error: failure } = useRun();
  const {
    data: plan,
    error,
    refetch,
  } = useQuery({
    queryKey: ['drain', name],
    queryFn: async ({ signal }) => {
      const pods = `/api/v1/pods?fieldSelector=${encodeURIComponent(`spec.nodeName=${name}`)}`;
      const [{ items }, budgets] = await Promise.all([
        api.json<{ items: readonly Pod[] }>(pods, { signal }),
        api.json<{ items: readonly PodDisruptionBudget[] }>('/apis/policy/v1/poddisruptionbudgets', { signal }),
      ]);
      return planDrain(items, budgets.items);
    },
    staleTime: 0,
  });
  const drain = async (seen: readonly DrainStep[], signal: AbortSignal) => {
    await setUnschedulable(api, name, true);
    // Until now, pods may have come: from now on, none will.
    const { data: steps } = await refetch({ throwOnError: true });
    const lost = newLosses(seen, steps ?? []);
    if (lost.length > 0)
      throw new StatusError(
        'Conflict',
        `${name} is cordoned; pods have come whose eviction loses something: ${lost.join(', ')}`,
      );
    await Promise.all(
      (steps ?? [])
        .filter(({ action }) => action === 'evict')
        .map(async ({ pod }) => {
          const say = (state: string) => setStates((old) => ({ ...old, [pod.metadata.uid ?? '']: state }));
          while (!(await evict(api, pod, say)) && !signal.aborted) await pause(clock, RETRY_MS, signal);
        }),
    );
  };
  const mayLose = agreed !== undefined && newLosses(agreed, plan ?? []).length === 0;
  const hasLoss = plan?.some(({ isLoss }) => isLoss) === true;
  const flags = `--ignore-daemonsets${hasLoss ? ' --delete-emptydir-data --force' : ''}`;
  return (
    <Dialog title={`Drain ${name}`} onClose={onClose} className="wide">
      <Kubectl command={kubectlOfNode('drain', name, flags)} />
      {error ? <Failure error={error} what="the pods of the node" /> : null}
      {plan === undefined ? error ? null : <Busy what="the pods of the node" /> : <Steps plan={plan} states={states} />}
      {hasLoss ? (
        <label>
          <input
            type="checkbox"
            checked={mayLose}
            onChange={({ currentTarget }) => setAgreed(currentTarget.checked ? plan : undefined)}
          />{' '}
          I agree to what is lost
        </label>
      ) : null}
      <RunError error={failure} />
      <div className="buttons">
        <button
          type="button"
          className="danger"
          disabled={isBusy || plan === undefined || (hasLoss && !mayLose)}
          onClick={() => run((signal) => drain(plan ?? [], signal))}
        >
          {isBusy ? 'Draining …' : 'Drain'}
        </button>
      </div>
    </Dialog>
  );
}

/** Whether the eviction is settled: accepted, or the pod is gone. */
async function evict(api: Api, { metadata }: Pod, say: (state: string) => void): Promise<boolean> {
  const { namespace = '', name = '', uid } = metadata;
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  try {
    await api.fetch(`/api/v1/namespaces/${namespace}/pods/${name}/eviction`, { method: 'POST', body });
    say('evicted');
    return true;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.code === 404 || error.code === 409) {
      say('gone');
      return true;
    }
    say(error.message);
    if (error.code === 429 || error.code >= 500) return false;
    throw error;
  }
}

interface StepsProps {
  readonly plan: readonly DrainStep[];
  readonly states: Readonly<Record<string, string>>;
}

function Steps({ plan, states }: StepsProps): ReactNode {
  if (plan.length === 0) return <p>No pod is on this node.</p>;
  return (
    <Table label="Pods of the node" of={['Pod', 'What happens', 'State']}>
      {plan.map(({ pod: { metadata }, action, note, isLoss }) => (
        <tr key={metadata.uid}>
          <th scope="row">
            {metadata.namespace}/{metadata.name}
          </th>
          <td data-tone={isLoss ? 'waiting' : 'none'}>
            {action === 'evict' ? 'is evicted' : 'stays'}
            {note === '' ? '' : `: ${note}`}
          </td>
          <td>{states[metadata.uid ?? '']}</td>
        </tr>
      ))}
    </Table>
  );
}
