import { NumberLiteral } from '../values/json-parser.ts';

/** A JSON value as Go's `%v` prints it: `map[a:1 b:[x y]]`. */
export function goFormat(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (value instanceof NumberLiteral) return formatLiteral(value.text);
  if (Array.isArray(value)) return `[${value.map(goFormat).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${goFormat(item)}`).join(' ')}]`;
}

function formatLiteral(text: string): string {
  if (/^-?\d+$/.test(text)) return text;
  const value = Number(text);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e21)) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return String(value);
}
