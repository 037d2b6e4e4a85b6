/** `npm run status [-- --json]`: members, leaders, nodes and problems. Exit code 1 when there are problems. */
import { parseArgs } from 'node:util';
import { systemClock } from '@gantry/base';
import { adminCertificate, openApi } from '../cluster/api.ts';
import { openProject } from '../cluster/compose.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createShell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { gatherFacts } from '../status/gather.ts';
import { findProblems } from '../status/problems.ts';
import { renderStatus } from '../status/render.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const settings = mustReadSettings(config);
  const facts = await gatherFacts({
    clusterId: settings.clusterId,
    clock: systemClock,
    shell,
    project: openProject(config, settings.clusterId, shell),
    openApi: () => openApi(config),
    adminCertificate: () => adminCertificate(config),
  });
  const problems = findProblems(facts);
  const text = values.json ? JSON.stringify({ ...facts, problems }, null, 2) : renderStatus(facts);
  process.stdout.write(`${text}\n`);
  return problems.length === 0 ? 0 : 1;
});
