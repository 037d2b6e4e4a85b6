/** `npm run status [-- --json]`: members, leaders, nodes and problems. Exit code 1 when there are problems. */
import { parseArgs } from 'node:util';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createShell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { gatherCheckoutFacts } from '../status/gather.ts';
import { findProblems } from '../status/problems.ts';
import { renderStatus } from '../status/render.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const facts = await gatherCheckoutFacts(config, mustReadSettings(config).clusterId, shell);
  const problems = findProblems(facts);
  const text = values.json ? JSON.stringify({ ...facts, problems }, null, 2) : renderStatus(facts);
  process.stdout.write(`${text}\n`);
  return problems.length === 0 ? 0 : 1;
});
