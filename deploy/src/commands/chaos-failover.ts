/** `npm run chaos -- failover`: how long each component's work is away after each fault, in many trials. Exit code 0, or 1 if it did not run. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, systemClock } from '@gantry/base';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { runningImage } from '../chaos/chaos-cluster.ts';
import { FAULT_KINDS } from '../chaos/faults/index.ts';
import { type Cell, CELLS } from '../chaos/failover/cells.ts';
import { runTrials } from '../chaos/failover/run-trials.ts';
import { formatTable, parseTrials, type Trial } from '../chaos/failover/table.ts';
import { chaosFolder, Journal } from '../chaos/journal.ts';
import { removeNamespace } from '../chaos/leftovers.ts';
import { prepareCluster } from '../chaos/prepare-cluster.ts';
import { undoAll } from '../chaos/undo.ts';
import { makeNamespace } from '../chaos/workloads/run-workloads.ts';
import { openCluster } from '../cluster/open-cluster.ts';
import { inheritedEnvironment, invokedIn } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const USAGE = 'npm run chaos -- failover [--trials 30] [--minutes N] [--only TEXT] [--file FILE] [--table]';
const NAMESPACE = 'chaos-failover';
const MINUTE_MS = 60_000;

await runCommand(async () => {
  const { trials: wanted, minutes, only, file: given, table } = readOptions(process.argv.slice(2));
  const opened = await openCluster();
  const file =
    given === undefined
      ? join(chaosFolder(opened.config), 'failover.jsonl')
      : resolve(invokedIn(inheritedEnvironment()), given);
  const before = existsSync(file) ? parseTrials(readFileSync(file, 'utf8'), file) : [];
  if (table) {
    process.stdout.write(`${formatTable(before)}\n`);
    return 0;
  }
  const cells = CELLS.filter(({ component, fault }) => `${component}: ${fault}`.includes(only));
  if (cells.length === 0)
    throw new CommandError(
      `--only: no cell contains ${JSON.stringify(only)}`,
      CELLS.map(({ component, fault }) => `${component}: ${fault}`).join('; '),
    );
  const image = await runningImage(opened);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  using _lock = takeCampaignLock(opened.config);
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  const cluster = await prepareCluster(opened, image, NAMESPACE, say);
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort()).on('SIGTERM', () => stop.abort());
  const journal = new Journal(opened.config, process.pid);
  journal.begin(NAMESPACE);
  mkdirSync(dirname(file), { recursive: true });
  say(`${before.length} trials of before, ${cells.length} cells of ${wanted} trials each; recorded in ${file}`);
  let all: readonly Trial[];
  try {
    await makeNamespace(cluster, NAMESPACE);
    const untilMs = minutes === undefined ? Infinity : systemClock.monotonicMs() + minutes * MINUTE_MS;
    const onTrial = (trial: Trial) => {
      appendFileSync(file, `${JSON.stringify(trial)}\n`);
      const took = trial.ms === undefined ? 'not seen' : `${trial.ms} ms`;
      say(`${trial.at}  ${trial.component}: ${trial.fault}: ${took} (${trial.detail})`);
    };
    const run = {
      cluster,
      kinds: FAULT_KINDS,
      journal,
      clock: systemClock,
      namespace: NAMESPACE,
      cells,
      wanted,
      untilMs,
      onTrial,
      onFailure: ({ component, fault }: Cell, why: string) => say(`${component}: ${fault}: not made: ${why}`),
    };
    all = await runTrials(run, before, stop.signal);
  } finally {
    await undoAll(cluster, journal.steps);
    journal.end();
    using api = cluster.connect();
    await removeNamespace(api, NAMESPACE).catch((error: unknown) =>
      say(`${NAMESPACE} is not removed: ${errorMessage(error)}`),
    );
  }
  process.stdout.write(`${formatTable(all)}\n`);
  return 0;
});

function readOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        trials: { type: 'string', default: '30' },
        minutes: { type: 'string' },
        only: { type: 'string', default: '' },
        file: { type: 'string' },
        table: { type: 'boolean', default: false },
      },
    });
    const minutes = values.minutes === undefined ? undefined : wholeNumber('--minutes', values.minutes);
    return { ...values, trials: wholeNumber('--trials', values.trials), minutes };
  } catch (error) {
    throw new CommandError(errorMessage(error), USAGE);
  }
}

function wholeNumber(option: string, text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new CommandError(`${option}: ${text} is no whole number from 1 to 99999`);
}
