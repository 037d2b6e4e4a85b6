import { ITEM } from './schema.ts';

/** Where in a YAML text the cursor is. */
export interface Position {
  /** The keys from the root to the map or list in which the cursor is; `[]` for an item of a list. */
  readonly path: readonly string[];
  /** What is being written: a key, or the value of `key`. */
  readonly writes: { readonly kind: 'key' } | { readonly kind: 'value'; readonly key: string };
  /** Its part before the cursor. */
  readonly prefix: string;
}

interface Level {
  readonly indent: number;
  readonly key: string;
}

const KEY = /^("[^"]*"|'[^']*'|[^\s#:][^:]*?)\s*:(?:\s|$)/;

/**
 * The position of a cursor, by the indentation of the lines before it: it needs no valid document, because what is being written is not
 * valid yet. Only block style is understood.
 */
export function positionAt(text: string, offset: number): Position {
  const lines = text.slice(0, offset).split('\n');
  const current = lines.pop() ?? '';
  const levels: Level[] = [];
  for (const line of lines) enterLine(levels, line);
  const { indent, rest } = enterItems(levels, current);
  pop(levels, indent);
  const path = levels.map(({ key }) => key);
  const key = KEY.exec(rest)?.[1];
  if (key === undefined) return { path, writes: { kind: 'key' }, prefix: rest };
  const value = rest.slice(rest.indexOf(':') + 1).trimStart();
  return { path, writes: { kind: 'value', key: unquote(key) }, prefix: value };
}

function enterLine(levels: Level[], line: string): void {
  if (line.trim() === '' || line.trimStart().startsWith('#')) return;
  const { indent, rest } = enterItems(levels, line);
  const key = KEY.exec(rest)?.[1];
  if (key === undefined) return;
  pop(levels, indent);
  levels.push({ indent, key: unquote(key) });
}

/** Enters the items that the line begins (`- `); the rest of the line is inside of them. */
function enterItems(levels: Level[], line: string): { readonly indent: number; readonly rest: string } {
  let indent = line.length - line.trimStart().length;
  let rest = line.slice(indent);
  while (rest.startsWith('- ') || rest === '-') {
    // A list may have the same indentation as its key.
    while (levels.some((level) => level.indent > indent || (level.indent === indent && level.key === ITEM)))
      levels.pop();
    levels.push({ indent, key: ITEM });
    const inner = rest.slice(1).trimStart();
    indent += rest.length - inner.length;
    rest = inner;
  }
  return { indent, rest };
}

function pop(levels: Level[], indent: number): void {
  while ((levels.at(-1)?.indent ?? -1) >= indent) levels.pop();
}

function unquote(key: string): string {
  return /^["']/.test(key) ? key.slice(1, -1) : key;
}
