/** `npm run leave`: removes from this machine what `npm run join` has made. Idempotent. The cluster keeps the Nodes: `kubectl delete node`. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage, systemClock } from '@gantry/base';
import { JOIN_FILE, openProject, settingsFileOf } from '../cluster/compose.ts';
import { removePodLeftovers } from '../cluster/pod-leftovers.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createProgress } from '../machine/progress.ts';
import { createShell } from '../machine/shell.ts';
import { valueIn } from '../settings/join-settings.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const found = readCommandConfig(inheritedEnvironment());
  const config = { ...found, home: join(found.home, 'join'), overlays: [] };
  const shell = createShell(config.root, inheritedEnvironment());
  const progress = createProgress(systemClock, (text) => process.stdout.write(text));
  const file = settingsFileOf(config);
  if (!existsSync(file)) {
    progress.line('nothing to remove: this machine has joined no cluster from here');
    return 0;
  }
  const stored = readFileSync(file, 'utf8');
  const clusterId = valueIn(stored, 'GANTRY_CLUSTER_ID');
  const project = openProject(config, clusterId, shell, JOIN_FILE);
  await progress.step('agents', () => project.removeService('agent'));
  await progress.step("pods' containers", async (note) =>
    note(`${await removePodLeftovers(shell, systemClock, clusterId, note)} removed`),
  );
  if (valueIn(stored, 'GANTRY_POD_CIDR') !== '') {
    await progress.step("pods' memory and control groups", async (note) => {
      try {
        await project.cleanHost(note);
      } catch (error) {
        // An engine that refuses an agent's container never ran one. Otherwise the next step names the volume that is in use.
        note(errorMessage(error));
      }
    });
    await progress.step('rules of Services', (note) => project.removeProxy(note));
    await progress.step('routing rules of pods', (note) => project.removePodEgress(note));
    await progress.step('containers, network, data', (note) => project.down('remove', (line) => note(line.trim())));
  }
  rmSync(config.home, { recursive: true });
  return 0;
});
