/** Builds the image of the services as `up` does, and prints its names. For engines that cannot build it, as without a network. */
import { ensureServiceImages } from '../cluster/service-image.ts';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createShell } from '../machine/shell.ts';
import { runCommand } from './run-command.ts';

await runCommand(async () => {
  const config = readCommandConfig(inheritedEnvironment());
  const images = await ensureServiceImages(config, createShell(config.root, inheritedEnvironment()), (text) => {
    process.stderr.write(`${text}\n`);
  });
  process.stdout.write(`${images.services}\n${images.pki}\n`);
  return 0;
});
