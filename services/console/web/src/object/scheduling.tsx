import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { allowsPath } from '../api/access.ts';
import { formatAge } from '../shell/ages.ts';
import { useConsole, useNow, useRules } from '../shell/console-context.ts';
import { Table } from '../shell/table.tsx';

/** The scheduler's last decision about a pod: `/gantry/v1/scheduling`. */
interface SchedulingReport {
  readonly decisions: readonly {
    readonly at: string;
    readonly outcome: string;
    readonly node?: string;
    readonly message: string;
    readonly victims: readonly unknown[];
    readonly nodeCount: number;
    readonly feasibleCount: number;
    readonly nodes: readonly {
      readonly node: string;
      readonly score?: number;
      readonly scores?: readonly { readonly plugin: string; readonly weight: number; readonly points: number }[];
      readonly refusedBy?: string;
      readonly reasons?: readonly string[];
    }[];
  }[];
}

const PATH = '/gantry/v1/scheduling';
const REFRESH_MS = 3_000;

/** What the scheduler considered: each node's filter or score. Nothing for those who may not see it. */
export function Scheduling({ namespace, pod }: { readonly namespace: string; readonly pod: string }): ReactNode {
  const { api } = useConsole();
  const now = useNow();
  const may = allowsPath(useRules(namespace), PATH);
  const { data } = useQuery({
    queryKey: ['scheduling', namespace, pod],
    enabled: may,
    queryFn: ({ signal }) =>
      api.json<SchedulingReport>(`${PATH}?${new URLSearchParams({ namespace, pod })}`, { signal }),
    refetchInterval: REFRESH_MS,
    retry: false,
  });
  const decision = data?.decisions[0];
  if (decision === undefined) return null;
  const { at, outcome, node = '', nodeCount, feasibleCount, nodes, victims } = decision;
  return (
    <section>
      <h2>What the scheduler considered</h2>
      <p>
        {formatAge(now - Date.parse(at))} ago: {outcome}
        {node === '' ? '' : ` ${outcome === 'assigned' ? 'to' : 'on'} ${node}`}. {feasibleCount} of {nodeCount} nodes
        fit.
        {victims.length === 0 ? '' : ` ${victims.length} pods of lower priority are evicted for it.`}
      </p>
      <Table label="Nodes that the scheduler considered" of={['Node', 'Score', 'Why']}>
        {nodes.map((one) => (
          <tr key={one.node}>
            <th scope="row">{one.node}</th>
            <td data-tone={one.refusedBy === undefined ? 'good' : 'bad'}>
              {one.refusedBy === undefined ? (one.score ?? 'the only one') : 'refused'}
            </td>
            <td>
              {one.refusedBy === undefined
                ? (one.scores ?? []).map(({ plugin, weight, points }) => `${plugin} ${points}×${weight}`).join(', ')
                : `${one.refusedBy}: ${(one.reasons ?? []).join('; ')}`}
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
