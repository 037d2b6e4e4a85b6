import { append, type Clock, errorMessage, pause, seededRandom } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import { type FaultKind, faultName, type PlannedFault, type RecordedHistory, type Scene } from './fault.ts';
import type { Journal } from './journal.ts';
import { recordContainers } from './recording/record-containers.ts';
import type { RunFolder } from './recording/run-folder.ts';
import { undoAll, type UndoTools } from './undo.ts';

/** Callbacks for what happens to the faults of a campaign. */
export interface FaultEvents {
  onStart(fault: PlannedFault, detail: string): void;
  onHeal(fault: PlannedFault): void;
  /** It could not be made, for example because the component has no leader. */
  onSkip(fault: PlannedFault, why: string): void;
  onHealthy(round: number, afterMs: number): void;
}

export interface FaultRun {
  readonly cluster: UndoTools & Pick<ChaosCluster, 'problems' | 'connect' | 'folder' | 'requireUnchanged'>;
  readonly kinds: readonly FaultKind[];
  readonly journal: Pick<Journal, 'add' | 'stepsOf' | 'drop'>;
  readonly folder: Pick<RunFolder, 'fault' | 'health' | 'text'>;
  readonly clock: Clock;
  /** How long the cluster may take to be healthy again. */
  readonly healthyMs: number;
  readonly events: FaultEvents;
  readonly history?: RecordedHistory;
}

/** How many faults acted, and what was wrong. */
export interface FaultResult {
  /** Faults of the schedule up to the end of its last round that began. */
  readonly reached: number;
  readonly faults: number;
  readonly kinds: number;
  readonly violations: readonly string[];
}

const LOOK_EVERY_MS = 1_000;
const NEVER = new AbortController().signal;

/**
 * Makes the faults of a schedule, round after round, until `untilMs` or `stop`. All faults of a round are healed before the cluster must
 * become healthy again; if it does not, that is a violation, and no further round begins.
 */
export async function runFaults(
  run: FaultRun,
  plan: readonly PlannedFault[],
  untilMs: number,
  stop: AbortSignal,
): Promise<FaultResult> {
  const acted: PlannedFault[] = [];
  let reached = 0;
  for (const round of new Set(plan.map((fault) => fault.round))) {
    if (stop.aborted || run.clock.monotonicMs() >= untilMs) break;
    const faults = plan.filter((fault) => fault.round === round);
    reached += faults.length;
    const results = await Promise.allSettled(faults.map((fault) => runFault(run, fault, stop)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw new CommandError(errorMessage(failed.reason));
    const done = faults.filter((_, index) => isActed(results[index]));
    append(acted, done);
    const wrong = await untilHealthy(run, round, done, stop);
    if (wrong.length > 0) {
      const names = done.map(faultName).join(', ');
      return { ...countsOf(acted), reached, violations: wrong.map((text) => `not healthy after ${names}: ${text}`) };
    }
  }
  return { ...countsOf(acted), reached, violations: [] };
}

const isActed = (result: PromiseSettledResult<'acted' | 'skipped'> | undefined) =>
  result?.status === 'fulfilled' && result.value === 'acted';

const countsOf = (acted: readonly PlannedFault[]) => ({
  faults: acted.length,
  kinds: new Set(acted.map(({ kind }) => kind)).size,
});

async function runFault(run: FaultRun, fault: PlannedFault, stop: AbortSignal): Promise<'acted' | 'skipped'> {
  const { clock, folder, events } = run;
  await pause(clock, fault.atMs, stop);
  if (stop.aborted) return 'skipped';
  const described = { id: fault.id, kind: fault.kind, target: describeTarget(fault) };
  const scene = sceneOf(run, fault);
  const kind = run.kinds.find((one) => one.kind === fault.kind);
  if (kind === undefined) throw new CommandError(`there is no fault ${fault.kind}`);
  let detail: string;
  try {
    detail = await kind.strike(scene);
  } catch (error) {
    await heal(run, fault);
    if (!(error instanceof CommandError || isAway(error))) throw error;
    events.onSkip(fault, errorMessage(error));
    return 'skipped';
  }
  folder.fault({ ...described, phase: 'start', detail });
  events.onStart(fault, detail);
  await pause(clock, fault.durationMs, stop);
  try {
    if (!stop.aborted) await kind.finish?.(scene, stop);
  } catch (error) {
    await heal(run, fault);
    // Ctrl-C in a terminal also ends programs that the campaign has started.
    if (!stop.aborted || !(error instanceof CommandError)) throw error;
  }
  await heal(run, fault);
  folder.fault({ ...described, phase: 'heal' });
  events.onHeal(fault);
  return 'acted';
}

const describeTarget = ({ target, peer }: PlannedFault) => (peer === undefined ? target : `${target} ${peer}`);

function sceneOf({ cluster, journal, history }: FaultRun, fault: PlannedFault): Scene {
  return {
    engine: cluster.engine,
    fault,
    random: seededRandom(Math.floor(fault.choice * 2 ** 32)),
    undoLater: async (steps) => await Promise.resolve(journal.add(fault.id, steps)),
    folder: cluster.folder,
    compose: cluster.compose,
    command: cluster.command,
    ...(history === undefined ? {} : { history }),
    requireUnchanged: cluster.requireUnchanged,
    api: cluster.connect,
    rollTo: cluster.rollTo,
  };
}

/** Whether the API did not answer, which may be another fault's doing. */
const isAway = (error: unknown) => error instanceof StatusError && error.code >= 500;

/** A fault that overlaps may keep a step from working for a while, and a busy engine too. A campaign plans none for longer. */
const HEAL_MS = 60_000;

async function heal({ cluster, journal, clock }: FaultRun, fault: PlannedFault): Promise<void> {
  const since = clock.monotonicMs();
  for (;;) {
    try {
      await undoAll(cluster, journal.stepsOf(fault.id));
      journal.drop(fault.id);
      return;
    } catch (error) {
      if (clock.monotonicMs() - since > HEAL_MS) throw error;
    }
    await pause(clock, LOOK_EVERY_MS, NEVER);
  }
}

/**
 * Waits until the cluster is healthy, or `stop`. Resolves with what is wrong when its time is over; then the artefacts have what the containers
 * say of themselves.
 */
async function untilHealthy(
  { cluster, folder, clock, healthyMs, events }: FaultRun,
  round: number,
  done: readonly PlannedFault[],
  stop: AbortSignal,
): Promise<readonly string[]> {
  const since = clock.monotonicMs();
  let known: string | undefined;
  for (;;) {
    const lookedAtMs = clock.monotonicMs();
    const problems = await problemsOf(cluster);
    const [tookMs, lookMs] = [clock.monotonicMs() - since, clock.monotonicMs() - lookedAtMs];
    const seen = problems.join('\n');
    if (seen !== known) folder.health({ round, lookMs, problems: [...problems] });
    known = seen;
    if (problems.length === 0) {
      for (const fault of done) {
        folder.fault({ id: fault.id, kind: fault.kind, target: describeTarget(fault), phase: 'healthy' });
      }
      events.onHealthy(round, tookMs);
      return [];
    }
    if (tookMs > healthyMs) {
      await recordContainers(cluster.engine, folder);
      return problems;
    }
    await pause(clock, LOOK_EVERY_MS, stop);
    if (stop.aborted) return [];
  }
}

/** A look that fails, for example because the engine does not respond in time, says that the cluster is not healthy. */
async function problemsOf(cluster: FaultRun['cluster']): Promise<readonly string[]> {
  try {
    return await cluster.problems();
  } catch (error) {
    if (error instanceof CommandError) return [`the state of the cluster cannot be read: ${errorMessage(error)}`];
    throw error;
  }
}
