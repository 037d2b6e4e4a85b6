/** `npm run chaos -- serve`: makes the campaigns that ChaosRuns of the API ask for, until Ctrl-C. Exit code 0, or 1 if it did not run. */
import { parseArgs } from 'node:util';
import { errorMessage, systemClock, systemRandom, untilDone } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import { CUSTOM_RESOURCE_DEFINITIONS } from '@gantry/objects';
import { createOperator } from '@gantry/operator';
import { takeCampaignLock } from '../chaos/campaign-lock.ts';
import { openChaosCluster, runningImage } from '../chaos/chaos-cluster.ts';
import { type CheckedRun, nameRun, readChoices, runChecked } from '../chaos/checked-run.ts';
import { removeWorkloads, undoLeftovers } from '../chaos/leftovers.ts';
import { CHAOS_RUNS, CHAOS_SERVICES } from '../chaos/service/kinds.ts';
import { offerService } from '../chaos/service/offer.ts';
import { RunController } from '../chaos/service/run-controller.ts';
import { openCluster } from '../cluster/open-cluster.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const USAGE = 'npm run chaos -- serve';
const REQUEST_MS = 5_000;
const RETRY_MS = 1_000;

type Opened = Pick<CheckedRun, 'opened' | 'image'>;

await runCommand(async () => {
  try {
    parseArgs({ args: process.argv.slice(2), options: {} });
  } catch (error) {
    throw new CommandError(errorMessage(error), USAGE);
  }
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort()).on('SIGTERM', () => stop.abort());
  const { opened, image } = await openRunning();
  using client = openChaosCluster(opened, image, '').connect();
  await healLeftovers(opened, client);
  const choices = await readChoices(opened, image);
  await installKinds(client, stop.signal);
  const runs = new RunController({
    client,
    clock: systemClock,
    random: systemRandom,
    choices,
    lock: () => takeCampaignLock(opened.config),
    // The cluster may have been replaced since: each run looks at it again.
    campaign: async (options, view, ended) => {
      const now = await openRunning();
      return await runChecked({ ...now, view, ...nameRun(now.opened, options) }, options, ended);
    },
    say,
  });
  const operator = createOperator({
    name: 'chaos',
    controllers: [runs.controller],
    cluster: { client, namespace: 'default', [Symbol.dispose]: () => {} },
    logLevel: 'warn',
  });
  say(`ready: kubectl create -f deploy/samples/chaos-run.yaml`);
  // When one of them ends, so does the other.
  const both = [
    offerService({ client, clock: systemClock, choices, say }, stop.signal),
    operator.runUntil(stop.signal),
  ];
  const ends = await Promise.allSettled(both.map((part) => part.finally(() => stop.abort())));
  say('everything is healed first');
  await runs.end();
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw new CommandError(errorMessage(failed.reason));
  return 0;
});

async function openRunning(): Promise<Opened> {
  const opened = await openCluster();
  const image = await runningImage(opened);
  if (image === undefined) throw new CommandError('the cluster has no containers', 'npm run up');
  return { opened, image };
}

/** What a run has left whose process was killed. The objects of such runs say afterwards that they failed. */
async function healLeftovers(opened: Opened['opened'], client: HttpClient): Promise<void> {
  using _lock = takeCampaignLock(opened.config);
  if (!(await undoLeftovers(opened, 'containers'))) return;
  await undoLeftovers(opened, 'commands');
  await removeWorkloads(opened.config, client);
  say('an earlier campaign was healed');
}

/** Resolves when the kinds are served. */
async function installKinds(client: HttpClient, stop: AbortSignal): Promise<void> {
  const install = async (): Promise<void> => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(REQUEST_MS)]);
    for (const { definition } of [CHAOS_RUNS, CHAOS_SERVICES])
      await client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition, {}, signal);
    await Promise.all([client.list(CHAOS_RUNS, {}, signal), client.list(CHAOS_SERVICES, {}, signal)]);
  };
  await untilDone(
    { clock: systemClock, everyMs: RETRY_MS, onReason: (why) => say(`the kinds are not served yet: ${why}`) },
    install,
    stop,
  );
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
