/** Why a command cannot go on: `what` for people, `fix` where one is known. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly fix: string | undefined;

  constructor(what: string, fix?: string) {
    super(what);
    this.fix = fix;
  }
}
