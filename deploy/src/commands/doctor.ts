/** `npm run doctor`: checks each prerequisite and prints its fix. Exit code 1 when one is missing. */
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { prerequisites } from '../doctor/checks.ts';
import { createShell } from '../machine/shell.ts';
import { runCommand } from './run-command.ts';

const SIGNS = { good: '✓', warning: '!', bad: '✗' } as const;

await runCommand(async () => {
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  let missing = 0;
  for (const { name, check } of prerequisites(config, shell)) {
    const { state, found, fix } = await check();
    if (state === 'bad') missing++;
    process.stdout.write(`  ${SIGNS[state]} ${name}: ${found}\n${fix === undefined ? '' : `      fix: ${fix}\n`}`);
  }
  return missing === 0 ? 0 : 1;
});
