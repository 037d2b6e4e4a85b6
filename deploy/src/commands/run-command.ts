import { errorMessage } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';

/** Ends the process with `main`'s exit code, or with `failed` after an error. Prints that as one line, and its fix if known. */
export async function runCommand(main: () => Promise<number>, failed = 1): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    process.stderr.write(`\ngantry: ${errorMessage(error)}\n`);
    if (error instanceof CommandError && error.fix !== undefined) process.stderr.write(`        ${error.fix}\n`);
    process.exitCode = failed;
  }
}
