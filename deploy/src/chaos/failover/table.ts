import type { Random } from '@gantry/base';
import { z } from 'zod';
import { CommandError } from '../../machine/command-error.ts';
import { CELLS, type Cell } from './cells.ts';

/** One line of the file of trials. `ms` is absent if the act was not seen in time. */
const TRIAL = z.object({
  component: z.string(),
  fault: z.string(),
  act: z.string(),
  ms: z.number().nonnegative().optional(),
  at: z.iso.datetime(),
  detail: z.string(),
});
export type Trial = z.infer<typeof TRIAL>;

/** Reads the lines of a file of trials. Throws CommandError that names the line. */
export function parseTrials(text: string, file: string): readonly Trial[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => {
      let value: unknown;
      try {
        value = JSON.parse(line);
      } catch {
        throw new CommandError(`${file}:${index + 1} is not JSON`);
      }
      const parsed = TRIAL.safeParse(value);
      if (parsed.success) return parsed.data;
      const [issue] = parsed.error.issues;
      throw new CommandError(`${file}:${index + 1}: ${issue?.path.join('.')}: ${issue?.message}`);
    });
}

const isOf = (cell: Cell) => (trial: Pick<Trial, 'component' | 'fault'>) =>
  trial.component === cell.component && trial.fault === cell.fault;

/**
 * One of the cells with the fewest trials, so that a run that is ended early has about as many of each; undefined if all have `wanted`. It is
 * chosen at random: clusters that share a machine would strike the same component at the same moment.
 */
export function nextCell(
  cells: readonly Cell[],
  trials: readonly Pick<Trial, 'component' | 'fault'>[],
  wanted: number,
  random: Random,
): Cell | undefined {
  const counts = cells.map((cell) => trials.filter(isOf(cell)).length);
  const fewest = Math.min(...counts);
  const due = cells.filter((_, index) => counts[index] === fewest);
  return fewest >= wanted ? undefined : due[Math.floor(random() * due.length)];
}

const ACT_TEXTS: Readonly<Record<Cell['act'], string>> = {
  binding: 'a new pod is bound',
  replicaset: 'a new Deployment has its ReplicaSet',
  writes: 'each of four clients has a write acknowledged',
  election: 'another API server is elected',
  holder: 'its Lease has another holder',
  renewal: 'its Lease is renewed',
  'pod-starts': 'a new pod of its node runs',
  successor: "the successor of its node's pod is Ready",
  connections: 'new connections to a Service of before are answered',
  'new-service': 'a new Service answers',
  ingress: 'requests through an Ingress are answered',
};

/**
 * The table in Markdown: cells that have trials, with p50, p99 and the longest in seconds, from the fault to the next useful act; with
 * those of Kubernetes beside them if there are any.
 */
export function formatTable(trials: readonly Trial[], kubernetes: readonly Trial[] = []): string {
  const columns = ['trials', 'p50', 'p99', 'max'];
  const beside = kubernetes.length === 0 ? [] : columns.map((name) => `Kubernetes: ${name}`);
  const head = ['component', 'fault', 'until', ...columns, ...beside];
  const rows = CELLS.flatMap((cell) => {
    const [own, other] = [trials, kubernetes].map((all) => all.filter(isOf(cell)));
    if (own === undefined || other === undefined || own.length + other.length === 0) return [];
    const what = [cell.component, cell.fault, ACT_TEXTS[cell.act]];
    return [[...what, ...quantiles(own), ...(beside.length === 0 ? [] : quantiles(other))]];
  });
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function quantiles(trials: readonly Trial[]): readonly string[] {
  if (trials.length === 0) return ['', '', '', ''];
  // One that was not seen is longer than all others.
  const times = trials.map(({ ms }) => ms ?? Infinity).toSorted((one, other) => one - other);
  return [`${times.length}`, ...[quantile(times, 0.5), quantile(times, 0.99), times.at(-1) ?? Infinity].map(inSeconds)];
}

/** The smallest value that at least such a share of the sorted values does not exceed. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

const inSeconds = (ms: number) => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(2)} s` : 'not seen');
