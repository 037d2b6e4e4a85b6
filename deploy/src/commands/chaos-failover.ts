/** `npm run chaos -- failover`: how long each component's work is away after each fault, in many trials. Exit code 0, or 1 if it did not run. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, systemClock, systemRandom, wholeNumber } from '@gantry/base';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { type ChaosCluster, runningImage } from '../chaos/chaos-cluster.ts';
import { FAULT_KINDS } from '../chaos/faults/index.ts';
import { type Cell, CELLS, KUBERNETES_CELLS } from '../chaos/failover/cells.ts';
import { makeTrials, type TrialRun } from '../chaos/failover/run-trials.ts';
import { formatTable, parseTrials, type Trial } from '../chaos/failover/table.ts';
import { chaosFolder, Journal } from '../chaos/journal.ts';
import { ForgottenSteps, startKubernetes } from '../chaos/kubernetes.ts';
import { removeImages, removeNamespace } from '../chaos/leftovers.ts';
import { prepareCluster } from '../chaos/prepare-cluster.ts';
import { undoAll } from '../chaos/undo.ts';
import { makeNamespace } from '../chaos/workloads/run-workloads.ts';
import { openCluster, type OpenCluster } from '../cluster/open-cluster.ts';
import { type CommandConfig, inheritedEnvironment, invokedIn, readCommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const USAGE =
  'npm run chaos -- failover [--trials 30] [--minutes N] [--only TEXT ...] [--file FILE] [--kubernetes FOLDER] [--table]';
const NAMESPACE = 'chaos-failover';
const MINUTE_MS = 60_000;
/** Trials of a cell, and minutes. */
const MOST = 99_999;

type Options = ReturnType<typeof readOptions>;

/** One of the systems at which trials are made. */
interface Side {
  readonly file: string;
  readonly cells: readonly Cell[];
}

await runCommand(async () => {
  const options = readOptions(process.argv.slice(2));
  const file = fileOf(readCommandConfig(inheritedEnvironment()), options);
  const ours = sideOf(file, CELLS, options);
  const kubernetes = sideOf(join(dirname(file), 'failover-kubernetes.jsonl'), KUBERNETES_CELLS, options);
  if (!options.table) {
    if (ours.cells.length === 0)
      throw new CommandError(
        `--only: no cell contains ${options.only.map((text) => JSON.stringify(text)).join(' or ')}`,
        CELLS.map(({ component, fault }) => `${component}: ${fault}`).join('; '),
      );
    await makeAllTrials(await openCluster(), options, ours, kubernetes);
  }
  process.stdout.write(`${formatTable(readTrials(ours), readTrials(kubernetes))}\n`);
  return 0;
});

/** The file of the trials at Gantry. */
function fileOf(config: CommandConfig, { file }: Options): string {
  if (file === undefined) return join(chaosFolder(config), 'failover.jsonl');
  return resolve(invokedIn(inheritedEnvironment()), file);
}

function sideOf(file: string, all: readonly Cell[], { only }: Options): Side {
  const isAsked = ({ component, fault }: Cell) => only.some((text) => `${component}: ${fault}`.includes(text));
  return { file, cells: only.length === 0 ? all : all.filter(isAsked) };
}

function readTrials({ file }: Side): readonly Trial[] {
  return existsSync(file) ? parseTrials(readFileSync(file, 'utf8'), file) : [];
}

async function makeAllTrials(opened: OpenCluster, options: Options, ours: Side, kubernetes: Side): Promise<void> {
  const { minutes, kubernetes: programs } = options;
  const image = await runningImage(opened);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  using _lock = takeCampaignLock(opened.config);
  const cluster = await prepareCluster(opened, image, NAMESPACE, say);
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort()).on('SIGTERM', () => stop.abort());
  const journal = new Journal(opened.config, process.pid);
  journal.begin(NAMESPACE);
  try {
    await using peer = programs === undefined ? undefined : await startKubernetes(opened, programs);
    const untilMs = minutes === undefined ? Infinity : systemClock.monotonicMs() + minutes * MINUTE_MS;
    const trialsAt = async (side: Side, at: ChaosCluster, steps: TrialRun['journal']) => {
      await makeNamespace(at, NAMESPACE);
      return makeTrials({ ...runOf(side, options, untilMs), cluster: at, journal: steps }, stop.signal);
    };
    const turns = [await trialsAt(ours, cluster, journal)];
    if (peer !== undefined) turns.push(await trialsAt(kubernetes, peer, new ForgottenSteps()));
    await inTurns(turns);
  } finally {
    await undoAll(cluster, journal.steps);
    journal.end();
    using api = cluster.connect();
    await removeNamespace(api, NAMESPACE).catch((error: unknown) =>
      say(`${NAMESPACE} is not removed: ${errorMessage(error)}`),
    );
    await removeImages(opened.shell, opened.clusterId);
  }
}

function runOf(side: Side, { trials: wanted }: Options, untilMs: number): Omit<TrialRun, 'cluster' | 'journal'> {
  const { file, cells } = side;
  say(
    `${readTrials(side).length} trials of before, ${cells.length} cells of ${wanted} trials each; recorded in ${file}`,
  );
  mkdirSync(dirname(file), { recursive: true });
  return {
    kinds: FAULT_KINDS,
    clock: systemClock,
    namespace: NAMESPACE,
    cells,
    wanted,
    recorded: () => readTrials(side),
    random: systemRandom,
    untilMs,
    onTrial: (trial) => {
      appendFileSync(file, `${JSON.stringify(trial)}\n`);
      const took = trial.ms === undefined ? 'not seen' : `${trial.ms} ms`;
      say(`${trial.at}  ${trial.component}: ${trial.fault}: ${took} (${trial.detail})`);
    },
    onFailure: ({ component, fault }, why) => say(`${component}: ${fault}: not made: ${why}`),
  };
}

async function inTurns(all: readonly AsyncGenerator<void>[]): Promise<void> {
  for (let going = all; going.length > 0; ) {
    const left: AsyncGenerator<void>[] = [];
    for (const one of going) if ((await one.next()).done !== true) left.push(one);
    going = left;
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        trials: { type: 'string', default: '30' },
        minutes: { type: 'string' },
        only: { type: 'string', multiple: true, default: [] },
        file: { type: 'string' },
        kubernetes: { type: 'string' },
        table: { type: 'boolean', default: false },
      },
    });
    const minutes = values.minutes === undefined ? undefined : wholeNumber('--minutes', values.minutes, 1, MOST);
    const kubernetes =
      values.kubernetes === undefined ? undefined : resolve(invokedIn(inheritedEnvironment()), values.kubernetes);
    return { ...values, kubernetes, trials: wholeNumber('--trials', values.trials, 1, MOST), minutes };
  } catch (error) {
    throw new CommandError(errorMessage(error), USAGE);
  }
}
