/** `npm run down [-- --keep-data]`: removes everything that the cluster created on this engine. Idempotent. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, systemClock } from '@gantry/base';
import { refuseDuringCampaign } from '../chaos/campaign-lock.ts';
import { readJournal, removeJournal } from '../chaos/journal.ts';
import { removeImages, undoLeftovers } from '../chaos/leftovers.ts';
import { kubeconfigOf } from '../cluster/api.ts';
import { openProject } from '../cluster/compose.ts';
import { forgetConfiguration } from '../cluster/load-balancers.ts';
import { openCluster } from '../cluster/open-cluster.ts';
import { removePodLeftovers } from '../cluster/pod-leftovers.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createProgress } from '../machine/progress.ts';
import { createShell, mustRun } from '../machine/shell.ts';
import { removeUnpacked } from '../snapshot/restore-lock.ts';
import { isSettingsLink, readSettings } from '../settings/ensure-settings.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const { values } = parseArgs({ options: { 'keep-data': { type: 'boolean', default: false } } });
  const data = values['keep-data'] ? 'keep' : 'remove';
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const progress = createProgress(systemClock, (text) => process.stdout.write(text));
  const settings = readSettings(config);
  if (settings === undefined) {
    progress.line('nothing to remove: no cluster was started here');
    return 0;
  }
  const project = openProject(config, settings.clusterId, shell);
  refuseDuringCampaign(config);
  if (readJournal(config) !== undefined) {
    const what = data === 'keep' ? 'containers to make again' : 'containers to remove';
    await progress.step('faults of `npm run chaos`', async () => void (await undoLeftovers(await openCluster(), what)));
    // What is left in the data is undone by the next `up`.
    if (data === 'remove') removeJournal(config);
  }
  // Agents first: they would recreate pods and containers.
  await progress.step('agents', () => project.removeService('agent'));
  await progress.step("pods' containers", async (note) => {
    note(`${await removePodLeftovers(shell, systemClock, settings.clusterId, note)} removed`);
  });
  await progress.step("pods' memory and control groups", async (note) => {
    try {
      let outcome = 'removed';
      await project.cleanHost((line) => (outcome = line));
      note(outcome);
    } catch (error) {
      // An engine that refuses an agent's container never ran one. Otherwise the next step names the volume that is in use.
      note(errorMessage(error));
    }
  });
  await progress.step('rules of Services', (note) => project.removeProxy(note));
  await progress.step('routing rules of pods', (note) => project.removePodEgress(note));
  await progress.step(data === 'keep' ? 'services (data stays)' : 'services, networks, data', (note) =>
    project.down(data, (line) => note(line.trim())),
  );
  // Those of campaigns that were killed, and of a restore.
  await removeImages(shell, settings.clusterId);
  await removeUnpacked((args) => mustRun(shell, 'docker', args), settings.clusterId);
  if (data === 'remove') {
    rmSync(kubeconfigOf(config), { force: true });
    if (isSettingsLink(config)) rmSync(join(config.root, '.env'));
    forgetConfiguration(config);
    if (existsSync(join(config.home, 'env'))) rmSync(join(config.home, 'env'));
  }
  return 0;
});
