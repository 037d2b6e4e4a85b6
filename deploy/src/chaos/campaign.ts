import { type Clock, errorMessage, pause, seededRandom } from '@gantry/base';
import type { EtcdEvent, Run, Verdict, VerdictSoFar } from '@gantry/chaos-checker';
import { shownPath } from '../config.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import { faultName, type HistoryCut, type PlannedFault } from './fault.ts';
import { type Election, electionOf } from './elections.ts';
import type { Journal } from './journal.ts';
import type { CampaignOptions } from './options.ts';
import { removeImages, removeNamespace } from './leftovers.ts';
import { formatPlan } from './plan-file.ts';
import { planCampaign } from './plan.ts';
import { judgeRun } from './recording/judge-run.ts';
import { recordEngine } from './recording/record-engine.ts';
import { type EtcdRecording, readKeys, recordMember } from './recording/record-etcd.ts';
import { type MetricRecording, recordMetrics } from './recording/record-metrics.ts';
import { Restores } from './recording/restores.ts';
import { RunFolder } from './recording/run-folder.ts';
import { type FaultEvents, type FaultResult, runFaults } from './run-faults.ts';
import { describeStep, undoAll } from './undo.ts';
import { recordUndisturbed } from './undisturbed.ts';
import { finishAll, makeNamespace, startWorkloads, type WorkloadParts } from './workloads/run-workloads.ts';
import { Tally } from './workloads/tally.ts';
import type { Patience } from './workloads/until-right.ts';

/** Called while a campaign runs. */
export interface CampaignEvents extends FaultEvents {
  onPlan(faults: readonly PlannedFault[], folder: string): void;
  onWorking(tally: Tally): void;
  onPhase(text: string): void;
  /** A leader was elected, or its term has ended. */
  onElection(election: Election): void;
  /** What the checker says of the run so far. */
  onVerdict(verdict: VerdictSoFar): void;
}

/** The end of a campaign. */
export interface CampaignResult {
  /** The schedule as far as it was made. */
  readonly plan: readonly PlannedFault[];
  readonly seed: number;
  readonly folder: string;
  readonly faults: number;
  readonly kinds: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly longestGapMs: number;
  readonly rounds: readonly RoundGap[];
  readonly services: Tally['services'];
  readonly violations: readonly string[];
  readonly ended: 'by itself' | 'by the user';
}

/** A round of faults: the longest time without an acknowledged request, from its first fault until the cluster was healthy. */
export interface RoundGap {
  /** `kill scheduler/leader`, with ` + ` between several. */
  readonly faults: string;
  readonly longestGapMs: number;
}

/** With what the checker found. */
export interface CheckedResult extends CampaignResult {
  readonly outcome: Verdict['outcome'];
}

/** Whether nothing follows from a result without violations: no fault was made, it was ended early, or its artefacts are incomplete. */
export function saysNothing({ faults, ended, outcome }: Pick<CheckedResult, 'faults' | 'ended' | 'outcome'>): boolean {
  return faults === 0 || ended === 'by the user' || outcome === 'unusable';
}

/** A busy machine takes minutes for what otherwise takes seconds. */
const HEALTHY_MS = 240_000;
/** Load without faults after them. */
const CALM_MS = 3_000;

export interface CampaignTools {
  readonly cluster: ChaosCluster;
  readonly clock: Clock;
  readonly journal: Pick<Journal, 'steps' | 'stepsOf' | 'begin' | 'add' | 'drop' | 'end'>;
  readonly namespace: string;
  readonly folder: string;
  readonly events: CampaignEvents;
}

/** Runs a campaign on a healthy cluster from the first object to the last line of the artefacts. Everything is healed when it settles. */
export async function runCampaign(
  tools: CampaignTools,
  options: CampaignOptions,
  stop: AbortSignal,
): Promise<CampaignResult> {
  const { cluster, clock, journal, namespace, events } = tools;
  const random = seededRandom(options.seed);
  const plan = options.plan ?? planCampaign({ ...options, shapes: options.kinds }, random);
  await using folder = new RunFolder(tools.folder, clock);
  folder.text('plan.json', formatPlan(plan));
  events.onPlan(plan, shownPath(cluster.opened.config, folder.path));
  journal.begin(namespace);
  try {
    const patience = { limitMs: options.settleMs, interrupted: stop, say: events.onPhase };
    if (options.undisturbedMs > 0) {
      await recordUndisturbed({ ...tools, patience, say: events.onPhase }, options, folder, stop);
    }
    return await new Campaign(tools, options, { plan, folder, patience }).run(stop);
  } finally {
    const left = journal.steps.map(describeStep);
    events.onPhase(left.length === 0 ? 'the workloads are removed' : `healing: ${left.join(', ')}`);
    await undoAll(cluster, journal.steps);
    await removeObjects(tools);
    await removeImages(cluster.opened.shell, cluster.engine.options.clusterId);
    // The last step: after a SIGKILL before it, the next command undoes the rest.
    journal.end();
  }
}

interface Made {
  readonly plan: readonly PlannedFault[];
  readonly folder: RunFolder;
  readonly patience: Required<Patience>;
}

class Campaign {
  readonly #tools: CampaignTools;
  readonly #options: CampaignOptions;
  readonly #plan: readonly PlannedFault[];
  readonly #folder: RunFolder;
  readonly #patience: Required<Patience>;
  readonly #tally = new Tally();
  readonly #rounds: RoundGap[] = [];
  readonly #restores: Restores;
  readonly #startedAt: number;
  readonly #startedAtMs: number;

  constructor(tools: CampaignTools, options: CampaignOptions, { plan, folder, patience }: Made) {
    this.#tools = tools;
    this.#options = options;
    this.#plan = plan;
    this.#folder = folder;
    this.#patience = patience;
    this.#restores = new Restores(tools.cluster.engine, folder);
    this.#startedAt = tools.clock.now();
    this.#startedAtMs = tools.clock.monotonicMs();
  }

  async run(stop: AbortSignal): Promise<CampaignResult> {
    const { cluster, clock, events } = this.#tools;
    const { engine } = cluster;
    const end = new AbortController();
    const incarnation = await readIncarnation(cluster);
    const before = await engine.options.etcd.revision();
    const keys = readKeys(await engine.options.etcd.ctl(['get', '', '--prefix', `--rev=${before}`, '-w', 'json']));
    this.#folder.initialKeys({ revision: before, keys: [...keys] });
    this.#onEvents(keys.map((key) => ({ type: 'put', ...key })));
    const recordings = this.#recordMembers(before + 1, end.signal);
    const fromEngine = await recordEngine(engine, this.#folder, end.signal);
    const metrics = recordMetrics(engine, this.#folder, end.signal);
    this.#folder.run(this.#describe({ incarnation, firstRevision: before + 1, lastRevision: before }), 'begun.json');
    const { onVerdict, onPhase: onProblem } = events;
    const judged = judgeRun({ folder: this.#folder, clock, onVerdict, onProblem }, end.signal);
    const stopLoad = new AbortController();
    try {
      await makeNamespace(cluster, this.#tools.namespace);
      const workloads = await startWorkloads(this.#parts(end.signal), this.#options, stopLoad.signal);
      events.onWorking(this.#tally);
      await pause(clock, this.#options.beforeMs, stop);
      const result = await this.#makeFaults(metrics, recordings, stop);
      await pause(clock, CALM_MS, stop);
      stopLoad.abort();
      this.#tally.end();
      events.onPhase('the workloads finish');
      const wrong = [...result.violations, ...(await finishAll(workloads))];
      for (const what of wrong) this.#folder.finding(what);
      // From here on, neither faults nor workloads change anything, unless the workloads were ended before they were finished.
      const quiet = stop.aborted
        ? {}
        : { quietFromRevision: await engine.options.etcd.revision(), quietFromMs: clock.monotonicMs() };
      events.onPhase(`calm for ${this.#options.calmMs / 1000} s: nothing may change any more`);
      await pause(clock, this.#options.calmMs, stop);
      const lastRevision = await engine.options.etcd.revision();
      events.onPhase("etcd's history is read to its end");
      await Promise.all(recordings.map((recording) => recording.until(lastRevision)));
      await this.#restores.written();
      this.#folder.run(this.#describe({ incarnation, firstRevision: before + 1, lastRevision, ...quiet }));
      return this.#result(result, wrong, stop);
    } finally {
      stopLoad.abort();
      end.abort();
      await Promise.all([...recordings.map(({ ended }) => ended), fromEngine.ended, metrics.ended, judged]);
    }
  }

  #recordMembers(fromRevision: number, end: AbortSignal): readonly EtcdRecording[] {
    const { engine } = this.#tools.cluster;
    return engine.options.etcd.members.map((member) =>
      recordMember(engine, this.#folder, { member, fromRevision, onEvents: this.#onEvents }, end),
    );
  }

  /** The first member that has an event shows it; views take it once. */
  readonly #onEvents = (events: readonly EtcdEvent[]): void => {
    for (const election of events.flatMap(electionOf)) this.#tools.events.onElection(election);
  };

  #parts(over: AbortSignal): WorkloadParts {
    const isLost = (version: string) => this.#restores.isLost(Number(version));
    return { ...this.#tools, folder: this.#folder, tally: this.#tally, patience: this.#patience, isLost, over };
  }

  #makeFaults(metrics: MetricRecording, recordings: readonly EtcdRecording[], stop: AbortSignal): Promise<FaultResult> {
    const { cluster, clock, journal } = this.#tools;
    const onHeal = (fault: PlannedFault): void => {
      metrics.soon();
      this.#tools.events.onHeal(fault);
    };
    const acting: PlannedFault[] = [];
    const onStart: FaultEvents['onStart'] = (fault, detail) => {
      if (acting.length === 0) this.#tally.mark();
      acting.push(fault);
      this.#tools.events.onStart(fault, detail);
    };
    const onHealthy: FaultEvents['onHealthy'] = (round, afterMs) => {
      const faults = acting.splice(0).map(faultName).join(' + ');
      const longestGapMs = this.#tally.gapSinceMark(clock.monotonicMs());
      if (faults !== '') this.#rounds.push({ faults, longestGapMs });
      this.#tools.events.onHealthy(round, afterMs);
    };
    const events: FaultEvents = { ...this.#tools.events, onStart, onHeal, onHealthy };
    const run = {
      cluster,
      kinds: this.#options.kinds,
      journal,
      folder: this.#folder,
      clock,
      healthyMs: Math.min(HEALTHY_MS, this.#options.settleMs),
      events,
      history: {
        untilRecorded: async (revision: number) =>
          void (await Promise.all(recordings.map((recording) => recording.until(revision)))),
        cut: (cut: HistoryCut) => this.#restores.cut(cut),
      },
    };
    const untilMs = this.#options.plan === undefined ? clock.monotonicMs() + this.#options.durationMs : Infinity;
    return runFaults(run, this.#plan, untilMs, stop);
  }

  #describe(
    facts: Pick<Run, 'incarnation' | 'firstRevision' | 'lastRevision' | 'quietFromRevision' | 'quietFromMs'>,
  ): Run {
    const { clock, cluster } = this.#tools;
    return {
      format: 1,
      clusterId: cluster.engine.options.clusterId,
      ...(cluster.storage === 'gantry' ? {} : { storage: cluster.storage }),
      seed: this.#options.seed,
      startedAt: new Date(this.#startedAt).toISOString(),
      startedAtMs: this.#startedAtMs,
      endedAt: new Date(clock.now()).toISOString(),
      endedAtMs: clock.monotonicMs(),
      options: this.#options.text,
      plan: this.#plan.map((fault) => ({ ...fault })),
      etcdMembers: [...cluster.engine.options.etcd.members],
      ...(cluster.storage === 'gantry'
        ? { replay: `npm run chaos -- --replay ${shownPath(cluster.opened.config, this.#folder.path)}` }
        : {}),
      ...facts,
    };
  }

  #result(result: FaultResult, wrong: readonly string[], stop: AbortSignal): CampaignResult {
    const { acknowledged, unknown, longestGapMs, services } = this.#tally;
    return {
      plan: this.#plan.slice(0, result.reached),
      seed: this.#options.seed,
      folder: this.#folder.path,
      faults: result.faults,
      kinds: result.kinds,
      acknowledged,
      unknown,
      longestGapMs,
      rounds: this.#rounds,
      services,
      violations: wrong,
      ended: stop.aborted ? 'by the user' : 'by itself',
    };
  }
}

async function readIncarnation({ engine, storage }: ChaosCluster): Promise<string> {
  if (storage === 'kubernetes') return '';
  return (await engine.options.etcd.ctl(['get', '/gantry/incarnation', '--print-value-only'])).trim();
}

/** Where the API does not respond, the next `up` or campaign finds the namespace by its label. */
async function removeObjects({ cluster, namespace, events }: CampaignTools): Promise<void> {
  using api = cluster.connect();
  try {
    await removeNamespace(api, namespace);
  } catch (error) {
    events.onPhase(`namespace ${namespace} is not removed: ${errorMessage(error)}`);
  }
}
