import { AgentError } from '../runtime/agent-error.ts';

/** The text after `=`. Like in a shell, the value is empty when white space follows the `=`. */
type Parsed = { readonly value: string; readonly end: number };

/** The content of a file with environment variables. */
export interface EnvFile {
  readonly values: ReadonlyMap<string, string>;
  /** `broken`: a line after the values cannot be parsed. */
  readonly end: 'whole' | 'broken';
}

/**
 * Parses a file of variables for `fileKeyRef` (KEP 3721): lines of NAME='value', where a value is literal and may span several lines. The
 * first line of a name counts.
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

/**
 * The value of `key`; '' without one. AgentError 'CreateContainerConfigError' when the key is missing and a part of the file cannot be
 * parsed.
 */
export function envFileValue({ values, end }: EnvFile, key: string): string {
  const value = values.get(key);
  if (value === undefined && end === 'broken') throw unreadable();
  return value ?? '';
}

/** Undefined for text that cannot be parsed. */
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
    // The last element is the empty text after the final newline.
    if (end >= lines.length) return undefined;
    part = lines[end] ?? '';
  }
}

/** The kubelet's message; it shows nothing of the file's content. */
export function unreadable(): AgentError {
  return new AgentError('CreateContainerConfigError', "couldn't parse env file");
}
