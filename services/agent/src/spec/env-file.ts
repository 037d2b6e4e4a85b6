import { AgentError } from '../runtime/agent-error.ts';

/** The value of what follows `=`: none when a space comes first, as in a shell. */
type Parsed = { readonly value: string; readonly end: number };

/**
 * The value of `key` in a file of variables as `fileKeyRef` reads it (KEP 3721): lines of NAME='value', where a value may have
 * several lines and is taken literally. The first line of a name counts; '' where there is none. AgentError
 * 'CreateContainerConfigError' for anything else up to that line.
 */
export function envFileValue(text: string, key: string): string {
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    const name = line.slice(0, Math.max(0, equals));
    if (equals < 0 || name === '' || /[ \t]$/.test(name)) throw unreadable();
    const { value, end } = valueFrom(line.slice(equals + 1), lines, at);
    if (name === key) return value;
    at = end;
  }
  return '';
}

function valueFrom(rest: string, lines: readonly string[], at: number): Parsed {
  if (/^[ \t]/.test(rest)) return { value: '', end: at };
  if (!rest.startsWith("'")) throw unreadable();
  let value = '';
  let part = rest.slice(1);
  for (let end = at; ; ) {
    const close = part.indexOf("'");
    if (close >= 0) {
      const after = part.slice(close + 1).replace(/^[ \t]+/, '');
      if (after !== '' && !after.startsWith('#')) throw unreadable();
      return { value: value + part.slice(0, close), end };
    }
    value += `${part}\n`;
    end += 1;
    // A last line is empty after the newline of the line before.
    if (end >= lines.length) throw unreadable();
    part = lines[end] ?? '';
  }
}

/** Kubelet's message, which says nothing of the file's content. */
export function unreadable(): AgentError {
  return new AgentError('CreateContainerConfigError', "couldn't parse env file");
}
