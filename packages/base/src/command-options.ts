/** An option of a command has a value that it cannot have. The message begins with the option. */
export class OptionError extends Error {
  override readonly name = 'OptionError';

  constructor(option: string, what: string) {
    super(`${option}: ${what}`);
  }
}

/** A whole number in decimal digits, as a command's option gives it. Throws an OptionError. */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new OptionError(option, `${JSON.stringify(text)} is no whole number from ${least} to ${most}`);
}

/** Whether an error is about the options that a user has given: an OptionError, or one of `parseArgs`. */
export function isUsageError(error: unknown): error is Error {
  if (error instanceof OptionError) return true;
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}
