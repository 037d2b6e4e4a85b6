import { AgentError } from '../runtime/agent-error.ts';

/** The value of what follows `=`: none when a space comes first, as in a shell. */
type Parsed = { readonly value: string; readonly end: number };

/** What a file of variables has. */
export interface EnvFile {
  readonly values: ReadonlyMap<string, string>;
  /** `broken`: a line that cannot be parsed comes after the values. */
  readonly end: 'whole' | 'broken';
}

/**
 * A file of variables as `fileKeyRef` reads it (KEP 3721): lines of NAME='value', where a value may have several lines and is taken
 * literally. The first line of a name counts.
 */
export function parseEnvFile(text: string): EnvFile {
  const values = new Map<string, string>();
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    const name = line.slice(0, Math.max(0, equals));
    if (equals < 0 || name === '' || /[ \t]$/.test(name)) return { values, end: 'broken' };
    const parsed = valueFrom(line.slice(equals + 1), lines, at);
    if (parsed === undefined) return { values, end: 'broken' };
    if (!values.has(name)) values.set(name, parsed.value);
    at = parsed.end;
  }
  return { values, end: 'whole' };
}

/** The value of `key`; '' where there is none. AgentError 'CreateContainerConfigError' where the file is broken before a line of it. */
export function envFileValue({ values, end }: EnvFile, key: string): string {
  const value = values.get(key);
  if (value === undefined && end === 'broken') throw unreadable();
  return value ?? '';
}

/** Undefined for what cannot be parsed. */
function valueFrom(rest: string, lines: readonly string[], at: number): Parsed | undefined {
  if (/^[ \t]/.test(rest)) return { value: '', end: at };
  if (!rest.startsWith("'")) return undefined;
  let value = '';
  let part = rest.slice(1);
  for (let end = at; ; ) {
    const close = part.indexOf("'");
    if (close >= 0) {
      const after = part.slice(close + 1).replace(/^[ \t]+/, '');
      if (after !== '' && !after.startsWith('#')) return undefined;
      return { value: value + part.slice(0, close), end };
    }
    value += `${part}\n`;
    end += 1;
    // A last line is empty after the newline of the line before.
    if (end >= lines.length) return undefined;
    part = lines[end] ?? '';
  }
}

/** Kubelet's message, which says nothing of the file's content. */
export function unreadable(): AgentError {
  return new AgentError('CreateContainerConfigError', "couldn't parse env file");
}
