/** `npm run token`: prints the command that joins another machine, with a token that is valid for 12 hours at least. */
import { isIPv4 } from 'node:net';
import { openProject } from '../cluster/compose.ts';
import { requirePublishedApi } from '../cluster/published-api.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { createShell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { encodeFacts, factsOf } from '../settings/join-settings.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const environment = inheritedEnvironment();
  const config = readCommandConfig(environment);
  const settings = mustReadSettings(config);
  if (!isIPv4(settings.hostAddress))
    throw new CommandError(
      'the API of this cluster is not published for other machines',
      'GANTRY_OVERLAYS=hosts GANTRY_HOST_ADDRESS=<an IPv4 address of this machine> npm run up',
    );
  const project = openProject(config, settings.clusterId, createShell(config.root, environment));
  requirePublishedApi(await project.containers(), settings.hostAddress);
  const { token, authority, madeAt } = await project.bootstrapToken();
  const cluster = encodeFacts(factsOf(settings, authority));
  process.stderr.write(`valid for 24 h from ${madeAt}; on the other machine, in a checkout of the same version:\n\n`);
  process.stdout.write(`npm run join -- --server ${settings.hostAddress} --token ${token} --cluster ${cluster}\n`);
  return 0;
});
