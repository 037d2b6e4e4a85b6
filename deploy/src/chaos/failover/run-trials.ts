import { type Clock, errorMessage, pause, type Random, seededRandom } from '@gantry/base';
import { NODES } from '@gantry/objects';
import { CommandError } from '../../machine/command-error.ts';
import { mustReadSettings } from '../../settings/ensure-settings.ts';
import type { ChaosCluster } from '../chaos-cluster.ts';
import type { ChaosContainer } from '../engine.ts';
import type { FaultKind, PlannedFault } from '../fault.ts';
import type { Journal } from '../journal.ts';
import { undoAll } from '../undo.ts';
import { untilRight } from '../workloads/until-right.ts';
import type { Watching } from './act.ts';
import { ACTS } from './acts.ts';
import type { Cell } from './cells.ts';
import { nextCell, type Trial } from './table.ts';

export interface TrialRun {
  readonly cluster: ChaosCluster;
  readonly kinds: readonly FaultKind[];
  readonly journal: Pick<Journal, 'add' | 'stepsOf' | 'drop'>;
  readonly clock: Clock;
  readonly namespace: string;
  readonly cells: readonly Cell[];
  /** Of each cell, with those that are recorded. */
  readonly wanted: number;
  /** The trials that there are, also those that other clusters make meanwhile. */
  readonly recorded: () => readonly Trial[];
  readonly random: Random;
  /** No trial begins later, by the monotonic clock. */
  readonly untilMs: number;
  /** Called with each trial when it is over. */
  readonly onTrial: (trial: Trial) => void;
  /** A trial that could not be made. */
  readonly onFailure: (cell: Cell, why: string) => void;
}

const SEEN_WITHIN_MS = 90_000;
const HEALTHY_MS = 240_000;
/** So many trials may fail in a run: another API server or a slow engine may be in the way. */
const MOST_FAILURES = 10;
/** After the cluster is healthy: standbys have opened their watches. */
const REST_MS = 3_000;

/**
 * Makes trials, one at a time, until each cell has enough, `untilMs`, or `stop`. Yields when the cluster is healthy after one. Throws
 * CommandError if it does not recover.
 */
export async function* makeTrials(run: TrialRun, stop: AbortSignal): AsyncGenerator<void> {
  /** Of trials that failed. They count, so that another cell comes next. */
  const without: Cell[] = [];
  for (let number = 0; !stop.aborted && run.clock.monotonicMs() < run.untilMs; number++) {
    const cell = nextCell(run.cells, [...run.recorded(), ...without], run.wanted, run.random);
    if (cell === undefined) break;
    try {
      const trial = await makeTrial(run, cell, number, stop);
      if (trial !== undefined) run.onTrial(trial);
    } catch (error) {
      if (without.push(cell) > MOST_FAILURES) throw error;
      run.onFailure(cell, errorMessage(error));
    }
    const wrong = await untilRight(run.clock, run.cluster.problems, { limitMs: HEALTHY_MS });
    if (wrong.length > 0)
      throw new CommandError(`not healthy after ${cell.fault} of ${cell.component}: ${wrong.join('; ')}`);
    await pause(run.clock, REST_MS, stop);
    yield;
  }
}

async function makeTrial(run: TrialRun, cell: Cell, number: number, stop: AbortSignal): Promise<Trial | undefined> {
  const { cluster, clock, namespace } = run;
  const id = `f${number}`;
  const node = await nodeOf(cluster, await cluster.engine.one(cell.target, seededRandom(number)));
  const name = `trial-${number}`;
  const watching = await ACTS[cell.act]({
    connect: cluster.connect,
    engine: cluster.engine,
    clock,
    namespace,
    cell,
    name,
    podImage: cluster.podImage,
    ingressPort: mustReadSettings(cluster.opened.config).ingressHttpPort,
    node,
  });
  try {
    const detail = await strike(run, cell, number);
    const struckAt = cluster.engine.lastActAt;
    const seenAt = await seenInTime(watching, struckAt, stop);
    if (stop.aborted) return undefined;
    const { component, fault, act } = cell;
    const ms = seenAt === undefined ? {} : { ms: Math.max(0, seenAt - struckAt) };
    return { component, fault, act, ...ms, at: new Date(struckAt).toISOString(), detail };
  } finally {
    await undoAll(cluster, run.journal.stepsOf(id));
    run.journal.drop(id);
    await watching.end();
  }
}

/** The node of an agent's container; '' for other containers. */
async function nodeOf({ connect }: ChaosCluster, { service, name }: ChaosContainer): Promise<string> {
  if (service !== 'agent') return '';
  using api = connect();
  const { items } = await api.list(NODES, {}, AbortSignal.timeout(SEEN_WITHIN_MS));
  const number = name.slice(name.lastIndexOf('-'));
  const found = items.find(({ metadata }) => metadata.name?.endsWith(number) === true);
  if (found?.metadata.name === undefined) throw new CommandError(`${name} has no node`);
  return found.metadata.name;
}

async function strike(
  { cluster, kinds, journal }: TrialRun,
  { kind, target, peer }: Cell,
  number: number,
): Promise<string> {
  const found = kinds.find((one) => one.kind === kind);
  if (found === undefined) throw new CommandError(`there is no fault ${kind}`);
  const id = `f${number}`;
  const planned = { id, kind, target, round: 0, atMs: 0, durationMs: SEEN_WITHIN_MS, choice: 0.5 };
  const fault: PlannedFault = peer === undefined ? planned : { ...planned, peer };
  return await found.strike({
    engine: cluster.engine,
    fault,
    // As for the node: the same container.
    random: seededRandom(number),
    undoLater: async (steps) => await Promise.resolve(journal.add(id, steps)),
    folder: cluster.folder,
    compose: cluster.compose,
    command: cluster.command,
    requireUnchanged: cluster.requireUnchanged,
    api: cluster.connect,
    rollTo: cluster.rollTo,
  });
}

/** Undefined if it was not seen within 90 s, or the user has ended the trials. */
async function seenInTime(watching: Watching, struckAt: number, stop: AbortSignal): Promise<number | undefined> {
  const late = AbortSignal.timeout(SEEN_WITHIN_MS);
  const ended = AbortSignal.any([stop, late]);
  try {
    return await watching.seen(struckAt, ended);
  } catch (error) {
    if (ended.aborted) return undefined;
    throw new CommandError(`the act was not looked for: ${errorMessage(error)}`);
  }
}
