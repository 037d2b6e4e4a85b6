import { isUsageError } from '../command-options.ts';

/** What `read` makes of the options of a command for developers. Wrong ones end the process with code 2 and one line that says why. */
export function optionsOrExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isUsageError(error)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
