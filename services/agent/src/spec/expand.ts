import type { ProgramSize } from './program-size.ts';

/** An escape (`$$`, without a name) or a reference (`$(NAME)`) in a text. */
interface Reference {
  readonly from: number;
  readonly to: number;
  readonly name: string | undefined;
}

/**
 * Replaces `$(NAME)` by the variable's value. `$$` is a literal `$`; a reference to an unknown variable is kept. `fits` gets the size of
 * the result in bytes before it is built, and throws if that is too large: a few references can ask for more than any memory has.
 */
export function expand(
  text: string,
  variables: ReadonlyMap<string, string>,
  fits: (bytes: number) => void = () => undefined,
): string {
  fits(expandedBytes(text, variables));
  const parts: string[] = [];
  let end = 0;
  for (const { from, to, name } of references(text)) {
    const value = name === undefined ? '$' : variables.get(name);
    if (value === undefined) continue;
    parts.push(text.slice(end, from), value);
    end = to;
  }
  return parts.join('') + text.slice(end);
}

/** Like `expand`; also returns the sorted names of referenced variables that are unknown or empty. */
export function expandAll(
  text: string,
  variables: ReadonlyMap<string, string>,
  fits?: (bytes: number) => void,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  for (const { name } of references(text)) {
    if (name !== undefined && (variables.get(name) ?? '') === '') missing.add(name);
  }
  return { text: expand(text, variables, fits), missing: [...missing].sort() };
}

/** Expands each string of a command, counted in `size`; `field` names it in messages. AgentError 'CreateContainerConfigError'. */
export function expandCommand(
  field: string,
  command: readonly string[],
  variables: ReadonlyMap<string, string>,
  size: ProgramSize,
): readonly string[] {
  return command.map((text, index) => expand(text, variables, (bytes) => size.add(`${field}[${index}]`, bytes)));
}

function expandedBytes(text: string, variables: ReadonlyMap<string, string>): number {
  const known = new Map<string, number>();
  let bytes = Buffer.byteLength(text);
  for (const { from, to, name } of references(text)) {
    if (name === undefined) {
      bytes--;
      continue;
    }
    const value = variables.get(name);
    if (value === undefined) continue;
    const size = known.get(name) ?? Buffer.byteLength(value);
    known.set(name, size);
    bytes += size - Buffer.byteLength(text.slice(from, to));
  }
  return bytes;
}

/** In the order of the text. Its end is searched for once, so that many unclosed references take linear time. */
function* references(text: string): Iterable<Reference> {
  let close = 0;
  for (let from = text.indexOf('$'); from >= 0; ) {
    let to = from + 1;
    if (text[to] === '$') {
      to++;
      yield { from, to, name: undefined };
    } else if (text[to] === '(') {
      if (close <= to) close = text.indexOf(')', to);
      if (close < 0) close = Number.POSITIVE_INFINITY;
      if (close < text.length) {
        to = close + 1;
        yield { from, to, name: text.slice(from + 2, close) };
      }
    }
    from = text.indexOf('$', to);
  }
}
