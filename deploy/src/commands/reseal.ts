/** `npm run reseal [-- --rotate] [--forget]`: writes objects again whose form in etcd is not the one that is wanted now. */
import { parseArgs } from 'node:util';
import { openProject } from '../cluster/compose.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createShell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const options = { rotate: { type: 'boolean', default: false }, forget: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ options });
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const settings = mustReadSettings(config);
  const args = [...(values.rotate ? ['--rotate'] : []), ...(values.forget ? ['--forget'] : [])];
  const project = openProject(config, settings.clusterId, shell);
  const command = args.length === 0 ? [] : ['node', 'lib/apiserver.mjs', 'reseal', ...args];
  process.stdout.write(await project.runOnce('reseal', command));
  return 0;
});
