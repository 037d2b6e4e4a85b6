/** `npm run reseal [-- --rotate] [--forget]`: writes objects again whose form in etcd is not the one that is wanted now. */
import { parseArgs } from 'node:util';
import { openProject } from '../cluster/compose.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { createShell } from '../machine/shell.ts';
import { readSettings } from '../settings/ensure-settings.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const options = { rotate: { type: 'boolean', default: false }, forget: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ options });
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const settings = readSettings(config);
  if (settings === undefined) throw new CommandError('no cluster was started here', 'start one: npm run up');
  const args = [...(values.rotate ? ['--rotate'] : []), ...(values.forget ? ['--forget'] : [])];
  const project = openProject(config, settings.clusterId, shell);
  const command = args.length === 0 ? [] : ['node', 'lib/apiserver.mjs', 'reseal', ...args];
  process.stdout.write(await project.runOnce('reseal', command));
  return 0;
});
