/** `npm run chaos`: faults at the running cluster, under load, and whether it did right. Exit code 0, or 1 for violations, 2 if it did not run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { append, systemClock, systemRandom } from '@gantry/base';
import { formatVerdict, writeReport } from '@gantry/chaos-checker';
import { type CheckedResult, runCampaign, saysNothing } from '../chaos/campaign.ts';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { type ChaosCluster, openChaosCluster, runningImage } from '../chaos/chaos-cluster.ts';
import { CLOCK_FAULTS, findFakeTime } from '../chaos/faults/clock.ts';
import { FAULT_KINDS } from '../chaos/faults/index.ts';
import { NETEM_FAULTS } from '../chaos/faults/network.ts';
import type { FaultKind, PlannedFault } from '../chaos/fault.ts';
import { chaosFolder, Journal } from '../chaos/journal.ts';
import { framesToSvg, RecordingScreen } from '../chaos/live-picture.ts';
import { type CampaignOptions, type Choices, readOptions } from '../chaos/options.ts';
import { formatPlan } from '../chaos/plan-file.ts';
import { prepareCluster } from '../chaos/prepare-cluster.ts';
import { shrink } from '../chaos/shrink.ts';
import { type CampaignView, showLines } from '../chaos/show-lines.ts';
import { type Screen, showLive } from '../chaos/show-live.ts';
import { WORKLOADS } from '../chaos/workloads/index.ts';
import { openCluster, type OpenCluster } from '../cluster/open-cluster.ts';
import { inheritedEnvironment, invokedIn, shownPath } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const FAILED = 2;

await runCommand(() => runOrShrink(process.argv.slice(2)), FAILED);

async function runOrShrink(args: readonly string[]): Promise<number> {
  const environment = inheritedEnvironment();
  const cluster = await openCluster();
  const image = await runningImage(cluster);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  const choices = await readChoices(cluster, image);
  const options = readOptions(args, choices, invokedIn(environment), systemRandom);
  using _lock = takeCampaignLock(cluster.config);
  const stop = new AbortController();
  const interrupt = () => {
    process.stderr.write('interrupted: everything is healed first\n');
    stop.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const run = (changed: CampaignOptions) => runOn({ opened: cluster, image }, changed, stop.signal);
  const result = await run(options);
  if (options.output === 'json') process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  if (result.violations.length > 0) {
    if (options.afterViolations === 'shrink') await printSmallest(result, options, run, stop.signal);
    return 1;
  }
  return saysNothing(result) ? FAILED : 0;
}

/** Prints the smallest part of a schedule with violations that still has some, as a plan file. */
async function printSmallest(
  { plan }: CheckedResult,
  options: CampaignOptions,
  run: (options: CampaignOptions) => Promise<CheckedResult>,
  stop: AbortSignal,
): Promise<void> {
  const fails = async (part: readonly PlannedFault[]) => (await run({ ...options, plan: part })).violations.length > 0;
  process.stdout.write(formatPlan(await shrink(plan, fails, stop)));
}

interface Opened {
  readonly opened: OpenCluster;
  readonly image: string;
}

async function runOn({ opened, image }: Opened, options: CampaignOptions, stop: AbortSignal): Promise<CheckedResult> {
  const runId = new Date(systemClock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  const namespace = `chaos-${runId}`;
  const recording = options.picture === undefined ? undefined : new RecordingScreen(systemClock, toStandardError);
  using view = showCampaign(openChaosCluster(opened, image, namespace), recording);
  const cluster = await prepareCluster(opened, image, namespace, view.onPhase);
  view.onPhase(`seed ${options.seed}`);
  const folder = join(chaosFolder(opened.config), `${runId}-${options.seed}`);
  const journal = new Journal(opened.config, process.pid);
  const result = await runCampaign(
    { cluster, clock: systemClock, journal, namespace, folder, events: view },
    options,
    stop,
  );
  view.onPhase('the checker reads the run');
  const report = join(folder, 'report.html');
  const verdict = await writeReport(folder, report);
  for (const line of formatVerdict(verdict).split('\n')) view.onPhase(line);
  view.onPhase(`the report is ${shownPath(opened.config, report)}`);
  const found = verdict.invariants.flatMap(({ invariant, violations }) =>
    violations.map(({ what }) => `${invariant}: ${what}`),
  );
  const checked = { ...result, outcome: verdict.outcome, violations: [...result.violations, ...found] };
  if (result.faults === 0) view.onPhase('no fault was made');
  view.onResult(checked);
  if (recording !== undefined && options.picture !== undefined) {
    writeFileSync(options.picture, framesToSvg(recording.frames, recording));
    view.onPhase(`the picture is ${shownPath(opened.config, options.picture)}`);
  }
  return checked;
}

function toStandardError(text: string): void {
  process.stderr.write(text);
}

/** A picture that changes where standard error is a terminal or where it is recorded, else lines. */
function showCampaign(cluster: ChaosCluster, recording: Screen | undefined): CampaignView {
  const { stderr } = process;
  const look = async () => (await cluster.look()).nodes;
  if (recording !== undefined) return showLive(systemClock, recording, look);
  if (!stderr.isTTY) return showLines(systemClock, toStandardError);
  const screen: Screen = {
    get columns() {
      return stderr.columns;
    },
    get rows() {
      return stderr.rows;
    },
    write: (text) => stderr.write(text),
  };
  return showLive(systemClock, screen, look);
}

/** All kinds of faults, without those that this machine cannot make. */
async function readChoices({ shell }: OpenCluster, image: string): Promise<Choices> {
  const alone = ['run', '--rm', '--network', 'none', '--cap-drop', 'ALL', '--cap-add', 'NET_ADMIN', '--user', '0'];
  const netem = ['tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'netem', 'delay', '1ms'];
  const { code, stderr } = await shell.run('docker', [...alone, image, ...netem]);
  const kinds = [...FAULT_KINDS];
  const impossible = new Map<string, string>();
  const offer = (optional: readonly FaultKind[], missing: string | undefined) => {
    if (missing === undefined) append(kinds, optional);
    else for (const { kind } of optional) impossible.set(kind, missing);
  };
  offer(NETEM_FAULTS, code === 0 ? undefined : `the kernel has no sch_netem (${stderr.trim().split('\n')[0]})`);
  const faketime = 'libfaketime is missing on this machine: sh deploy/bin/ensure-faketime';
  offer(CLOCK_FAULTS, findFakeTime() === undefined ? faketime : undefined);
  return { workloads: WORKLOADS, kinds, impossible };
}
