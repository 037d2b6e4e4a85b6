/**
 * `npm run chaos -- compare FOLDER [OPTIONS]`: the same campaign at this cluster, and at Kubernetes' own control plane beside it. Exit code 0, 1
 * for violations of ours, 2 if it says nothing.
 */
import { join } from 'node:path';
import { systemClock, systemRandom } from '@gantry/base';
import { saysNothing } from '../chaos/campaign.ts';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { runningImage } from '../chaos/chaos-cluster.ts';
import { type Checked, type CheckedRun, nameRun, runAndCheck, runChecked } from '../chaos/checked-run.ts';
import { COMPARED, formatComparison, readComparison } from '../chaos/comparison.ts';
import { chaosFolder } from '../chaos/journal.ts';
import { ForgottenSteps, startKubernetes } from '../chaos/kubernetes.ts';
import type { CampaignOptions } from '../chaos/options.ts';
import { showLines } from '../chaos/show-lines.ts';
import { runnable } from '../chaos/workloads/index.ts';
import { openCluster } from '../cluster/open-cluster.ts';
import { inheritedEnvironment, invokedIn } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const FAILED = 2;

await runCommand(async () => {
  const folder = invokedIn(inheritedEnvironment());
  const choices = { ...COMPARED, ...runnable(COMPARED.workloads) };
  const { programs, options } = readComparison(process.argv.slice(2), choices, folder, systemRandom);
  const opened = await openCluster();
  const image = await runningImage(opened);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  using _lock = takeCampaignLock(opened.config);
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort()).on('SIGTERM', () => stop.abort());
  const ours = await runOurs({ opened, image }, options, stop.signal);
  if (stop.signal.aborted) return FAILED;
  const theirs = await runTheirs({ opened }, programs, options, stop.signal);
  const { result } = ours;
  const text =
    options.output === 'json'
      ? JSON.stringify({ gantry: result, kubernetes: theirs.result }, undefined, 2)
      : formatComparison(ours, theirs);
  process.stdout.write(`${text}\n`);
  if (result.violations.length > 0) return 1;
  return saysNothing(result) || saysNothing(theirs.result) ? FAILED : 0;
}, FAILED);

async function runOurs(
  opened: Pick<CheckedRun, 'opened' | 'image'>,
  options: CampaignOptions,
  stop: AbortSignal,
): Promise<Checked> {
  using view = showLines(systemClock, sayAs('Gantry'));
  const checked = await runChecked({ ...opened, view, ...nameRun(opened.opened, options) }, options, stop);
  view.onResult(checked.result);
  return checked;
}

async function runTheirs(
  { opened }: Pick<CheckedRun, 'opened'>,
  programs: string,
  options: CampaignOptions,
  stop: AbortSignal,
): Promise<Checked> {
  using view = showLines(systemClock, sayAs('Kubernetes'));
  view.onPhase('its control plane starts');
  // The checker reads the objects in etcd.
  await using cluster = await startKubernetes(opened, programs, ['--storage-media-type=application/json']);
  const { namespace, folder } = nameRun(opened, options);
  const named = { namespace, folder: join(chaosFolder(opened.config), `kubernetes-${folder.split('/').at(-1)}`) };
  const checked = await runAndCheck({ cluster, journal: new ForgottenSteps(), view, ...named }, options, stop);
  view.onResult(checked.result);
  return checked;
}

function sayAs(side: string): (text: string) => void {
  return (text) => void process.stderr.write(`${side.padEnd(10)} ${text}`);
}
