/** `npm run chaos`: faults at the running cluster, under load, and whether it did right. Exit code 0, or 1 for violations, 2 if it did not run. */
import { writeFileSync } from 'node:fs';
import { systemClock, systemRandom } from '@gantry/base';
import { formatVerdict } from '@gantry/chaos-checker';
import { type CheckedResult, saysNothing } from '../chaos/campaign.ts';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { type ChaosCluster, openChaosCluster, runningImage } from '../chaos/chaos-cluster.ts';
import { type CheckedRun, nameRun, readChoices, runChecked } from '../chaos/checked-run.ts';
import type { PlannedFault } from '../chaos/fault.ts';
import { framesToSvg, RecordingScreen } from '../chaos/live-picture.ts';
import { type CampaignOptions, readOptions } from '../chaos/options.ts';
import { formatPlan } from '../chaos/plan-file.ts';
import { shrink } from '../chaos/shrink.ts';
import { type CampaignView, showLines } from '../chaos/show-lines.ts';
import { type Screen, showLive } from '../chaos/show-live.ts';
import { openCluster } from '../cluster/open-cluster.ts';
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

type Opened = Pick<CheckedRun, 'opened' | 'image'>;

async function runOn({ opened, image }: Opened, options: CampaignOptions, stop: AbortSignal): Promise<CheckedResult> {
  const names = nameRun(opened, options);
  const recording = options.picture === undefined ? undefined : new RecordingScreen(systemClock, toStandardError);
  using view = showCampaign(openChaosCluster(opened, image, names.namespace), recording);
  const { result, verdict } = await runChecked({ opened, image, view, ...names }, options, stop);
  for (const line of formatVerdict(verdict).split('\n')) view.onPhase(line);
  if (result.faults === 0) view.onPhase('no fault was made');
  view.onResult(result);
  if (recording !== undefined && options.picture !== undefined) {
    writeFileSync(options.picture, framesToSvg(recording.frames, recording));
    view.onPhase(`the picture is ${shownPath(opened.config, options.picture)}`);
  }
  return result;
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
