import { errorMessage, isUsageError } from '@gantry/base';
import { ConfigError } from './config.ts';
import { exitCodeOf, type GroupOutcome } from './run-group.ts';

/**
 * The last line of a service's `main.ts`. Runs `main` and ends the process with the exit code of the outcome. An invalid configuration or
 * option ends it with code 2 and one line that names the variable or the option.
 */
export async function runMain(main: () => Promise<GroupOutcome>): Promise<void> {
  try {
    process.exit(exitCodeOf(await main()));
  } catch (error) {
    const isGiven = error instanceof ConfigError || isUsageError(error);
    const text = isGiven ? error.message : error instanceof Error ? error.stack : undefined;
    process.stderr.write(`${text ?? errorMessage(error)}\n`);
    process.exit(isGiven ? 2 : 1);
  }
}

/**
 * Lets a stop signal end the process at once while it waits for its dependencies: there is nothing to drain, and the first process of a
 * container ignores signals without a listener. Call the returned function right before the group runs.
 */
export function exitOnStopSignals(): () => void {
  const exit = (): void => process.exit(0);
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.once(signal, exit);
  return () => {
    for (const signal of signals) process.off(signal, exit);
  };
}
