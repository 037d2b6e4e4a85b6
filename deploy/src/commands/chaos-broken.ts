/** `npm run chaos:broken`: a campaign must find what each broken build of a service does. Exit code 0 if all are found, 1 if not, 2 if it did not run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, systemClock } from '@gantry/base';
import { check } from '@gantry/chaos-checker';
import { type BrokenBuild, buildBroken, parseBuilds, verifyBuild } from '../chaos/broken-build.ts';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { runCampaign } from '../chaos/campaign.ts';
import { type ChaosCluster, openChaosCluster, runningImage } from '../chaos/chaos-cluster.ts';
import { FAULT_KINDS } from '../chaos/faults/index.ts';
import { chaosFolder, Journal } from '../chaos/journal.ts';
import { type CampaignOptions, readOptions } from '../chaos/options.ts';
import { withImage } from '../chaos/other-image.ts';
import { removeImages } from '../chaos/leftovers.ts';
import { prepareCluster } from '../chaos/prepare-cluster.ts';
import { showLines } from '../chaos/show-lines.ts';
import { undoAll } from '../chaos/undo.ts';
import { untilRight } from '../chaos/workloads/until-right.ts';
import { WORKLOADS } from '../chaos/workloads/index.ts';
import { openCluster, type OpenCluster } from '../cluster/open-cluster.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const USAGE = 'npm run chaos:broken -- [--only TEXT] [--verify]';
const FOLDER = 'deploy/broken-builds';
const RUNS_MS = 120_000;
/** A workload that a broken build keeps from its end is not waited for: what it did is recorded. */
const SETTLE = '30s';

await runCommand(async () => {
  const { only, verify } = parse(process.argv.slice(2));
  const opened = await openCluster();
  const file = join(opened.config.root, FOLDER, 'builds.json');
  const builds = parseBuilds(readFileSync(file, 'utf8')).filter(({ name }) => name.includes(only));
  if (builds.length === 0) throw new CommandError(`--only: no build contains ${JSON.stringify(only)}`, USAGE);
  const image = await runningImage(opened);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  using _lock = takeCampaignLock(opened.config);
  if (verify) {
    const { engine } = openChaosCluster(opened, image, '');
    for (const build of builds) await verifyBuild(engine, build);
    return 0;
  }
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort()).on('SIGTERM', () => stop.abort());
  const rows: string[] = [];
  let missed = 0;
  for (const build of builds) {
    if (stop.signal.aborted) break;
    const { found, tookMs, what } = await findBroken({ opened, image }, build, stop.signal);
    const isInTime = found !== undefined && tookMs <= build.withinSeconds * 1000;
    if (!isInTime) missed++;
    const time = `${(tookMs / 1000).toFixed(0)} s`;
    rows.push(`| \`${build.name}\` | ${build.what} | ${found ?? 'not found'} | ${time} | ${build.withinSeconds} s |`);
    process.stderr.write(`${rows.at(-1)}\n  ${what}\n`);
  }
  const heading = ['| build | what is broken | found by | in | within |', '| --- | --- | --- | --- | --- |'];
  process.stdout.write(`${[...heading, ...rows].join('\n')}\n`);
  return missed === 0 ? 0 : 1;
}, 2);

function parse(args: readonly string[]) {
  try {
    const options = { only: { type: 'string', default: '' }, verify: { type: 'boolean', default: false } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new CommandError(errorMessage(error), USAGE);
  }
}

interface Found {
  /** The invariant that was violated; undefined if none of the expected ones was. */
  readonly found: string | undefined;
  /** From the first request of the workloads to the verdict of the checker. */
  readonly tookMs: number;
  readonly what: string;
}

/** Starts the broken services, runs the build's campaign, and replaces them by the right ones again. */
async function findBroken(
  { opened, image }: { readonly opened: OpenCluster; readonly image: string },
  build: BrokenBuild,
  stop: AbortSignal,
): Promise<Found> {
  const namespace = `chaos-${build.name}`;
  const view = showLines(systemClock, (text) => process.stderr.write(text));
  const cluster = await prepareCluster(opened, image, namespace, view.onPhase);
  const broken = await buildBroken(cluster.engine, build);
  const recreate = ['up', '-d', '--no-build', '--no-deps', '--force-recreate', ...build.services];
  const journal = new Journal(opened.config, process.pid);
  journal.begin(namespace);
  journal.add('broken-build', [{ undo: 'compose', args: recreate }]);
  const folder = join(chaosFolder(opened.config), `${namespace}-${systemClock.now()}`);
  try {
    await withImage(opened, build.services, broken).compose(recreate);
    const wrong = await untilRight(systemClock, cluster.problems, { limitMs: RUNS_MS, interrupted: stop });
    if (wrong.length > 0) throw new CommandError(`the services of ${build.name} do not run: ${wrong.join('; ')}`);
    return await findViolation(cluster, { build, journal, namespace, folder, events: view }, stop);
  } finally {
    view[Symbol.dispose]();
    // The campaign has done both, if it began.
    await undoAll(cluster, journal.steps);
    await removeImages(opened.shell, opened.clusterId);
    journal.end();
  }
}

interface Campaign {
  readonly build: BrokenBuild;
  readonly journal: Journal;
  readonly namespace: string;
  readonly folder: string;
  readonly events: ReturnType<typeof showLines>;
}

async function findViolation(cluster: ChaosCluster, campaign: Campaign, stop: AbortSignal): Promise<Found> {
  const { build, folder } = campaign;
  const sinceMs = systemClock.monotonicMs();
  await runCampaign({ cluster, clock: systemClock, ...campaign }, optionsOf(build, cluster.opened.config.root), stop);
  const { invariants } = await check(folder);
  const tookMs = systemClock.monotonicMs() - sinceMs;
  const violated = invariants.filter(({ violationCount }) => violationCount > 0);
  const found = violated.find(({ invariant }) => build.invariants.includes(invariant));
  const what = violated.map(({ invariant, violations }) => `${invariant}: ${violations[0]?.what}`).join('\n  ');
  return { found: found?.invariant, tookMs, what };
}

function optionsOf({ workload, plan }: BrokenBuild, root: string): CampaignOptions {
  const choices = { kinds: FAULT_KINDS, impossible: new Map<string, string>(), workloads: WORKLOADS };
  const file = join(FOLDER, 'plans', `${plan}.json`);
  const times = ['--settle', SETTLE, '--calm', '1s', '--undisturbed', 'none'];
  return readOptions(['--workload', workload, '--seed', '1', ...times, '--plan', file], choices, root, () => 0);
}
