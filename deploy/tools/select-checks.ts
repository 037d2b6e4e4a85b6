export interface Selectable {
  readonly name: string;
  /** Checks that must have ended before. */
  readonly after?: readonly string[];
  /** Needs Docker: it runs where `--docker` or its name is given. */
  readonly docker?: boolean;
}

export interface Selection<C extends Selectable> {
  readonly checks: readonly C[];
  /** Where to write the outcomes. */
  readonly json: string | undefined;
}

/**
 * The checks that the arguments of `npm run check` name; without names all that need no Docker, with `--docker` all. What a named check waits for
 * runs only when it is named too. The error names the known checks.
 */
export function selectChecks<C extends Selectable>(
  known: readonly C[],
  args: readonly string[],
): Selection<C> | { readonly error: string } {
  const names = args.filter((name) => name !== '--docker');
  const at = names.indexOf('--json');
  const [, json] = at < 0 ? [] : names.splice(at, 2);
  if (at >= 0 && json === undefined) return { error: '--json needs the name of a file' };
  if (names.length === 0) {
    return { checks: args.includes('--docker') ? known : known.filter(({ docker }) => docker !== true), json };
  }
  const unknown = names.find((name) => !known.some((check) => check.name === name));
  if (unknown !== undefined) {
    const list = known.map(({ name }) => (name.includes(' ') ? `'${name}'` : name)).join(', ');
    return { error: `there is no check ${unknown}; the checks are: ${list}` };
  }
  const named = known.filter(({ name }) => names.includes(name));
  const checks = named.map((check) => ({ ...check, after: check.after?.filter((name) => names.includes(name)) ?? [] }));
  return { checks, json };
}
