import { goFormat } from '../patch/go-format.ts';
import { parseJson } from '../values/exact-number.ts';

type Key = readonly (readonly [string, unknown])[];

/**
 * Sorts path elements in the form of fieldsV1, such as `f:a`, in place: fields, keys, values, indexes; within each, by content. Each is parsed once,
 * because a list may have thousands of items with keys.
 */
export function sortElements(elements: string[]): string[] {
  if (elements.length < 2) return elements;
  if (elements.every((element) => element.startsWith('f'))) return elements.sort(compareTexts);
  const parsed = elements.map(
    (element): Parsed => ({ element, rank: RANK[element[0] ?? ''] ?? 0, content: undefined }),
  );
  parsed.sort(compareParsed);
  for (const [index, { element }] of parsed.entries()) elements[index] = element;
  return elements;
}

interface Parsed {
  readonly element: string;
  readonly rank: number;
  /** Parsed when it is first compared. */
  content: unknown;
}

function compareParsed(a: Parsed, b: Parsed): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.rank === RANK['f']) return compareTexts(a.element, b.element);
  const parse = a.rank === RANK['k'] ? keyOf : contentOf;
  a.content ??= parse(a.element);
  b.content ??= parse(b.element);
  return a.rank === RANK['k'] ? compareKeys(a.content as Key, b.content as Key) : compareScalars(a.content, b.content);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const RANK: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

function contentOf(element: string): unknown {
  return parseJson(element.slice(2));
}

function keyOf(element: string): Key {
  return Object.entries(contentOf(element) as object).sort(([a], [b]) => compareTexts(a, b));
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
