import { goFormat } from '../patch/go-format.ts';
import { parseJson } from '../values/exact-number.ts';

type Key = readonly (readonly [string, unknown])[];

/** Order of path elements: fields, keys, values, indexes; within each, by content. Elements have the form of fieldsV1, such as `f:a`. */
export function compareElements(a: string, b: string): number {
  const kind = RANK[a[0] ?? ''] ?? 0;
  const other = RANK[b[0] ?? ''] ?? 0;
  if (kind !== other) return kind - other;
  if (kind === RANK['f']) return a < b ? -1 : a > b ? 1 : 0;
  if (kind === RANK['k']) return compareKeys(keyOf(a), keyOf(b));
  return compareScalars(contentOf(a), contentOf(b));
}

const RANK: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

function contentOf(element: string): unknown {
  return parseJson(element.slice(2));
}

function keyOf(element: string): Key {
  return Object.entries(contentOf(element) as object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

function compareKeys(a: Key, b: Key): number {
  for (const [index, [name, value]] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (name !== other[0]) return name < other[0] ? -1 : 1;
    const order = compareScalars(value, other[1]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Order: numbers, strings, booleans, nulls. */
function compareScalars(a: unknown, b: unknown): number {
  const kind = SCALAR_RANK[typeof a] ?? 3;
  const other = SCALAR_RANK[typeof b] ?? 3;
  if (kind !== other) return kind - other;
  if (typeof a === 'object' || a === b) return 0;
  return (a as number | string | boolean) < (b as number | string | boolean) ? -1 : 1;
}

const SCALAR_RANK: Readonly<Record<string, number>> = { number: 0, bigint: 0, string: 1, boolean: 2 };

/** The element in canonical form: keys of items sorted, no white space. Throws SyntaxError for an invalid element. */
export function canonicalElement(element: string): string {
  switch (element.slice(0, 2)) {
    case 'f:':
      return element;
    case 'k:': {
      const key = contentOf(element);
      if (key === null || typeof key !== 'object' || Array.isArray(key)) throw new SyntaxError('a key is an object');
      return `k:${JSON.stringify(Object.fromEntries(keyOf(element)))}`;
    }
    case 'v:':
      return `v:${JSON.stringify(contentOf(element))}`;
    case 'i:':
      if (!/^i:[+-]?\d+$/.test(element)) throw new SyntaxError('an index is a number');
      return element;
    default:
      throw new SyntaxError('unknown path element type');
  }
}

/** `.spec.ports[port=80,protocol="TCP"].name`, `.metadata.finalizers[="a/b"]`. */
export function formatFieldPath(path: readonly string[]): string {
  return path.map(formatElement).join('');
}

/** One element of `formatFieldPath`. */
export function formatElement(element: string): string {
  switch (element[0]) {
    case 'f':
      return `.${element.slice(2)}`;
    case 'k':
      return `[${keyOf(element)
        .map(([name, value]) => `${name}=${formatScalar(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${formatScalar(contentOf(element))}]`;
    default:
      return `[${element.slice(2)}]`;
  }
}

function formatScalar(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'string' ? JSON.stringify(value) : goFormat(value);
}
