/** `npm run snapshot -- save FILE | check FILE | restore FILE`: the cluster's state and keys in one file. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@gantry/base';
import { settingsFileOf } from '../cluster/compose.ts';
import { openCluster } from '../cluster/open-cluster.ts';
import { inheritedEnvironment, invokedIn, readCommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { createProgress } from '../machine/progress.ts';
import { createShell, mustRun } from '../machine/shell.ts';
import { readSettings } from '../settings/ensure-settings.ts';
import { check, restore } from '../snapshot/restore.ts';
import { save } from '../snapshot/save.ts';
import { runCommand } from './run-command.ts';

const USAGE =
  'npm run snapshot -- save FILE [--without-keys] [--from MEMBER] | check FILE | restore FILE [--keys] [--unreadable-secrets]';

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'without-keys': { type: 'boolean', default: false },
      from: { type: 'string' },
      keys: { type: 'boolean', default: false },
      'unreadable-secrets': { type: 'boolean', default: false },
    },
  });
  const [verb = '', name = '', ...rest] = positionals;
  if (name === '' || rest.length > 0) throw new CommandError('a command and one file are needed', USAGE);
  const file = resolve(invokedIn(inheritedEnvironment()), name);
  switch (verb) {
    case 'save':
      await save(await openCluster(), file, values['without-keys'] ? 'left-out' : 'included', values.from);
      return 0;
    case 'check':
      await check(await openCluster(), file);
      return 0;
    case 'restore': {
      const cluster = await ensureCluster(file);
      await restore(await openCluster(), file, {
        keys: values.keys || cluster === 'new' ? 'file' : 'cluster',
        unreadable: values['unreadable-secrets'] ? 'accepted' : 'refused',
      });
      return 0;
    }
    default:
      throw new CommandError(`there is no command ${JSON.stringify(verb)}`, USAGE);
  }
});

/** On a machine that has lost the cluster, makes a new one with the settings of the file. */
async function ensureCluster(file: string): Promise<'kept' | 'new'> {
  const config = readCommandConfig(inheritedEnvironment());
  if (readSettings(config) !== undefined) return 'kept';
  if (!existsSync(file)) throw new CommandError(`there is no file ${file}`);
  const shell = createShell(config.root, inheritedEnvironment());
  const { code, stdout: settings } = await shell.run('tar', ['-xOf', file, 'env']);
  if (code !== 0) {
    throw new CommandError(
      `no cluster was started here, and ${file} has no settings for a new one`,
      'scheduled snapshots have no settings and no keys: restore one of `npm run snapshot -- save` first',
    );
  }
  const progress = createProgress(systemClock, (text) => process.stdout.write(text));
  await progress.step('a new cluster with the settings of the file', async (note) => {
    mkdirSync(config.home, { recursive: true });
    writeFileSync(settingsFileOf(config), settings);
    await mustRun(shell, join(config.root, 'deploy/bin/up'), [], { onLine: note });
    note('up');
  });
  return 'new';
}
