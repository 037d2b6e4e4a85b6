/** A failure of a command: a message, and a fix if known. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly fix: string | undefined;

  constructor(what: string, fix?: string) {
    super(what);
    this.fix = fix;
  }
}
