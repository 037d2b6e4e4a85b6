/** `npm run chaos`: faults at the running cluster, under load, and whether it did right. Exit code 0, or 1 for violations, 2 if it did not run. */
import { join } from 'node:path';
import { systemClock, systemRandom } from '@gantry/base';
import { type CampaignResult, runCampaign } from '../chaos/campaign.ts';
import { openChaosCluster, runningImage } from '../chaos/chaos-cluster.ts';
import { FAULT_KINDS } from '../chaos/faults/index.ts';
import { NETEM_FAULTS } from '../chaos/faults/network.ts';
import { chaosFolder, Journal } from '../chaos/journal.ts';
import { refuseDuringCampaign, removeWorkloads, undoLeftovers } from '../chaos/leftovers.ts';
import { type CampaignOptions, type Choices, readOptions } from '../chaos/options.ts';
import { showLines } from '../chaos/show-lines.ts';
import { WORKLOADS } from '../chaos/workloads/index.ts';
import { openCluster, type OpenCluster } from '../cluster/open-cluster.ts';
import { inheritedEnvironment, invokedIn } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const FAILED = 2;

await runCommand(async () => {
  const environment = inheritedEnvironment();
  const cluster = await openCluster();
  const image = await runningImage(cluster);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  const choices = await readChoices(cluster, image);
  const options = readOptions(process.argv.slice(2), choices, invokedIn(environment), systemRandom);
  refuseDuringCampaign(cluster.config);
  const result = await runOn(cluster, image, options);
  if (options.output === 'json') process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  if (result.violations.length > 0) return 1;
  return result.ended === 'by the user' ? FAILED : 0;
}, FAILED);

async function runOn(opened: OpenCluster, image: string, options: CampaignOptions): Promise<CampaignResult> {
  const runId = new Date(systemClock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  const namespace = `chaos-${runId}`;
  using lines = showLines(systemClock, (text) => process.stderr.write(text));
  const cluster = openChaosCluster(opened, image, namespace);
  if (await undoLeftovers(opened, 'containers')) {
    await undoLeftovers(opened, 'commands');
    lines.onPhase('an earlier campaign was healed');
  }
  using api = cluster.connect();
  await removeWorkloads(opened.config, api);
  await refuseUnhealthy(cluster.problems);
  const stop = new AbortController();
  const interrupt = () => {
    lines.onPhase('interrupted: everything is healed first');
    stop.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  lines.onPhase(`seed ${options.seed}`);
  const folder = join(chaosFolder(opened.config), `${runId}-${options.seed}`);
  const journal = new Journal(opened.config, process.pid);
  const tools = { cluster, clock: systemClock, journal, namespace, folder, events: lines };
  const result = await runCampaign(tools, options, stop.signal);
  lines.onResult(result);
  return result;
}

async function refuseUnhealthy(problems: () => Promise<readonly string[]>): Promise<void> {
  const found = await problems();
  if (found.length > 0) throw new CommandError(`the cluster is not healthy: ${found.join('; ')}`, 'npm run up');
}

/** All kinds of faults, without those that this machine's kernel cannot make. */
async function readChoices({ shell }: OpenCluster, image: string): Promise<Choices> {
  const alone = ['run', '--rm', '--network', 'none', '--cap-drop', 'ALL', '--cap-add', 'NET_ADMIN', '--user', '0'];
  const netem = ['tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'netem', 'delay', '1ms'];
  const { code, stderr } = await shell.run('docker', [...alone, image, ...netem]);
  const choices = { workloads: WORKLOADS, kinds: FAULT_KINDS, impossible: new Map<string, string>() };
  if (code === 0) return { ...choices, kinds: [...FAULT_KINDS, ...NETEM_FAULTS] };
  const why = `the kernel has no sch_netem (${stderr.trim().split('\n')[0]})`;
  return { ...choices, impossible: new Map(NETEM_FAULTS.map(({ kind }) => [kind, why])) };
}
