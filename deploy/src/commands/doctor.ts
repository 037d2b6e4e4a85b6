/** `npm run doctor`: checks each prerequisite and prints its fix, then the problems of a running cluster. Exit code 1 when one is missing. */
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { prerequisites } from '../doctor/checks.ts';
import { createShell } from '../machine/shell.ts';
import { readSettings } from '../settings/ensure-settings.ts';
import { gatherCheckoutFacts } from '../status/gather.ts';
import { findProblems } from '../status/problems.ts';
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
  const settings = readSettings(config);
  if (missing > 0 || settings === undefined) return missing === 0 ? 0 : 1;
  const facts = await gatherCheckoutFacts(config, settings.clusterId, shell);
  if (facts.containers.length === 0) return 0;
  const problems = findProblems(facts);
  const lines =
    problems.length === 0
      ? [`${SIGNS.good} cluster: all is well`]
      : problems.map((text) => `${SIGNS.bad} cluster: ${text}`);
  process.stdout.write(`${lines.map((line) => `  ${line}`).join('\n')}\n`);
  return problems.length === 0 ? 0 : 1;
});
