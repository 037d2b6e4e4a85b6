import { formatColumns } from '../cluster/api.ts';

/** A decision of the scheduler, as `GET /gantry/v1/scheduling` returns it (docs/introspection.md). */
export interface Decision {
  readonly at: string;
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly outcome: 'assigned' | 'refused' | 'nominated';
  readonly node?: string;
  readonly message: string;
  readonly victims: readonly { readonly namespace: string; readonly name: string }[];
  readonly nodeCount: number;
  readonly feasibleCount: number;
  readonly refusedCount: number;
  readonly nodes: readonly {
    readonly node: string;
    readonly score?: number;
    readonly scores?: readonly { readonly plugin: string; readonly weight: number; readonly points: number }[];
    readonly refusedBy?: string;
    readonly reasons?: readonly string[];
  }[];
}

/** Formats a decision as text: a line for each node, those that fit first, and a column for each plugin that gave points. */
export function renderDecision(decision: Decision): string {
  const { pod, at, nodes, nodeCount, feasibleCount, refusedCount, victims } = decision;
  const name = ({ namespace, name: ofObject }: Decision['pod']) => `${namespace}/${ofObject}`;
  const plugins = [...new Set(nodes.flatMap(({ scores = [] }) => scores.map(({ plugin }) => plugin)))];
  const rows = nodes.map(({ node, score, scores = [], refusedBy, reasons = [] }) => [
    node,
    refusedBy === undefined ? 'fits' : `${refusedBy}: ${reasons.join(', ')}`,
    score === undefined ? '' : String(score),
    ...plugins.map((plugin) => {
      const given = scores.find((one) => one.plugin === plugin);
      return given === undefined ? '' : `${given.points}${given.weight === 1 ? '' : ` x ${given.weight}`}`;
    }),
  ]);
  const counts = `of ${nodeCount} nodes ${feasibleCount} fit and ${refusedCount} do not`;
  const unshown = feasibleCount + refusedCount - nodes.length;
  return [
    `${name(pod)} at ${at}: ${outcomeOf(decision)}`,
    ...(victims.length === 0 ? [] : [`evicted for it: ${victims.map(name).join(', ')}`]),
    `${counts}${unshown > 0 ? `; ${unshown} of them are not shown` : ''}`,
    ...(rows.length === 0 ? [] : ['', formatColumns([['NODE', 'FILTERS', 'SCORE', ...plugins], ...rows])]),
  ].join('\n');
}

function outcomeOf({ outcome, node = '', message }: Decision): string {
  if (outcome === 'assigned') return `assigned to ${node}`;
  return outcome === 'nominated' ? `waits for room on ${node}. ${message}` : `not assigned. ${message}`;
}
