import { compiledSize, matchSteps, patternOf } from '../patterns/patterns.ts';
import { MAX_CHARACTERS, TOO_MANY_CHARACTERS } from '../values/size-limits.ts';
import { CelList, CelMap, CelOpaque, CelOptional, type CelResult, type CelValue } from '../values/value.ts';
import { flattenedSize, rangeSize, slicedSize } from './result-sizes.ts';

export const LIST_COST = 10;
export const MAP_COST = 30;
export const STRUCT_COST = 40;
/** Price of reading one character. */
export const TRAVERSAL = 0.1;
/** Price of one pattern character per character of the text. */
export const PATTERN = 0.25;
/** Price of one authorization check. */
export const AUTHORIZATION_COST = 350_000;

/** Size in elements, characters or bytes; 1 for values without a size. */
export function sizeOf(value: CelResult): number {
  if (typeof value === 'string') return codePoints(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof CelOptional && value.value !== undefined) return sizeOf(value.value);
  if (value instanceof CelOpaque && value.size !== undefined) return value.size;
  return 1;
}

/** Texts with this length in UTF-16 units are counted once while in use; objects contain no longer ones. */
const LONG = { from: 4096, to: 3 * 1024 * 1024 };
const KEPT_TEXTS = 4;
const counted = new Map<string, number>();

/** Code points of a text. */
export function codePoints(text: string): number {
  if (text.length < LONG.from || text.length > LONG.to) return countCodePoints(text);
  const known = counted.get(text);
  if (known !== undefined) return known;
  const size = countCodePoints(text);
  const [oldest = ''] = counted.keys();
  if (counted.size >= KEPT_TEXTS) counted.delete(oldest);
  counted.set(text, size);
  return size;
}

function countCodePoints(text: string): number {
  let size = text.length;
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) >> 10 === 0x36) size--;
  }
  return size;
}

const traversal = (size: number, times = 1) => Math.ceil(size * times * TRAVERSAL);

/** Cost of reading a whole value. */
function deepTraversal(value: CelResult): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * TRAVERSAL);
  if (value instanceof Uint8Array) return Math.floor(value.length * TRAVERSAL);
  let cost = 0;
  if (value instanceof CelList) {
    for (const element of value) cost += deepTraversal(element);
    return cost;
  }
  if (value instanceof CelMap) {
    for (const key of value.keys()) cost += deepTraversal(key) + deepTraversal(value.get(key) ?? null);
    return cost;
  }
  return 1;
}

const matching = (text: number, pattern: number) => Math.ceil((1 + text) * TRAVERSAL) * Math.ceil(pattern * PATTERN);

/** Matching steps per unit of cost: four take less than 0.2 us. */
const STEPS_PER_COST = 4;

/** The cost is computed from the arguments alone: it is charged before the call. */
type CallCost = (sizes: readonly number[], args: readonly CelValue[], overload: string) => number;

/** As in Kubernetes, except that a pattern that expands when compiled, such as `(a{1,30}){1,30}`, costs its expanded size. */
const patternMatch: CallCost = ([text = 1, pattern = 1], [value, regex]) => {
  const compiled = typeof regex === 'string' ? patternOf(regex) : undefined;
  const steps = compiled?.ok === true && typeof value === 'string' ? matchSteps(value, compiled) : 0;
  return Math.max(matching(text, pattern), Math.ceil(steps / STEPS_PER_COST));
};

/** Compiling one instruction takes about 3 us. */
const COST_PER_INSTRUCTION = 16;

/** Cost of compiling a pattern that an object supplies. Kubernetes has none: Go compiles faster. */
export function compileCost(pattern: string): number {
  return compiledSize(pattern) * COST_PER_INSTRUCTION;
}

const first: CallCost = ([size = 1]) => traversal(size);
const firstTwice: CallCost = ([size = 1]) => traversal(size, 2);
const deep: CallCost = (_sizes, [list = null]) => deepTraversal(list);
const smaller: CallCost = ([left = 1, right = 1]) => traversal(Math.min(left, right));

/** Cost of parsing a selector: reading it, and one list for every two characters. */
function selectorCost(length: number): number {
  return LIST_COST + traversal(length) + Math.ceil(Math.ceil(length * 0.5) * (LIST_COST + STRUCT_COST));
}

const contains = (base: number): CallCost => {
  return ([network = 1, other = 1], _args, overload) =>
    traversal(network, 2) +
    (base > 0 ? traversal(network) + base : 0) +
    (overload.endsWith('_string') ? traversal(other) : 0);
};

/** Cost of building a list of this size. */
const filling = (size: number) => size + LIST_COST + 1;

/** Cost of joining texts: of the result's size. */
const joining: CallCost = ([, separator = 0], [list = null]) => {
  let size = 0;
  let count = 0;
  for (const text of list instanceof CelList ? list : []) {
    if (typeof text !== 'string') return traversal(1, 2);
    size += codePoints(text) + (count++ === 0 ? 0 : separator);
    if (size > MAX_CHARACTERS) break;
  }
  return traversal(size, 2);
};

/** Cost of comparing every element with every other. */
const squared: CallCost = ([size = 1]) => 2 * size * size + LIST_COST + 1;

/** Costs of calls by function. Other functions cost 1. */
const BY_FUNCTION: Readonly<Record<string, CallCost>> = {
  check: () => AUTHORIZATION_COST,
  fieldSelector: ([, selector = 1]) => selectorCost(selector),
  labelSelector: ([, selector = 1]) => selectorCost(selector),
  isSorted: deep,
  sum: deep,
  max: deep,
  min: deep,
  indexOf: deep,
  lastIndexOf: deep,
  url: first,
  lowerAscii: first,
  upperAscii: first,
  substring: first,
  trim: first,
  'jsonpatch.escapeKey': first,
  replace: firstTwice,
  split: firstTwice,
  join: joining,
  find: patternMatch,
  findAll: patternMatch,
  matches: patternMatch,
  cidr: first,
  isIP: first,
  isCIDR: first,
  ip: ([size = 1], _args, overload) => (overload === 'cidr_ip' ? 1 : traversal(size)),
  'ip.isCanonical': firstTwice,
  containsIP: contains(0),
  containsCIDR: contains(1),
  quantity: first,
  isQuantity: first,
  semver: first,
  isSemver: first,
  validate: ([, text = 1], [format]) => matching(text, format instanceof CelOpaque ? (format.patternSize ?? 1) : 1),
  startsWith: first,
  endsWith: first,
  contains: ([text = 1, part = 1]) => traversal(text) * traversal(part),
  format: first,
  'strings.quote': first,
  '_==_': (sizes, args, overload) => (args[0] instanceof CelOpaque ? 1 : smaller(sizes, args, overload)),
  '_!=_': smaller,
  'sets.contains': ([left = 1, right = 1]) => left * right + 1,
  'sets.intersects': ([left = 1, right = 1]) => left * right + 1,
  'sets.equivalent': ([left = 1, right = 1]) => 2 * left * right + 1,
  slice: ([size = 1], [, from, to]) => filling(slicedSize(size, from, to)),
  reverse: ([size = 1]) => filling(size),
  flatten: (_sizes, [list, depth]) => filling(flattenedSize(list, depth)),
  'lists.range': (_sizes, [count]) => filling(rangeSize(count)),
  distinct: squared,
  sort: squared,
  '@sortByAssociatedKeys': squared,
};

/** Functions whose result may be much longer than their arguments, although Kubernetes charges only for the arguments. */
const GROWING: ReadonlySet<string> = new Set(['format', 'replace']);
/** The number of characters of such a result that are free. */
const FREE_CHARACTERS = 10_000;

/** Cost of a long result, so that many of them cannot fill the memory. A result that was rejected as too long took the same time. */
export function growthCost(name: string, result: CelResult): number {
  if (!GROWING.has(name)) return 0;
  const length = result === TOO_MANY_CHARACTERS ? MAX_CHARACTERS : typeof result === 'string' ? result.length : 0;
  return traversal(Math.max(0, length - FREE_CHARACTERS));
}

const CONCATENATIONS: ReadonlySet<string> = new Set(['add_string', 'add_bytes']);
const ORDERINGS = /^(?:less|greater)(?:_equals)?_(?:string|bytes)$/;
const CODINGS: ReadonlySet<string> = new Set(['string_to_bytes', 'bytes_to_string']);

/** The actual cost of a call, from the sizes of the values that it reads and creates. */
export function callCost(name: string, overload: string, args: readonly CelValue[]): number {
  const rule = BY_FUNCTION[name];
  if (rule !== undefined) return rule(args.map(sizeOf), args, overload);
  const [left = null, right = null] = args;
  if (overload === 'in_list') return sizeOf(right);
  if (CONCATENATIONS.has(overload)) return traversal(sizeOf(left) + sizeOf(right));
  if (ORDERINGS.test(overload)) return traversal(Math.min(sizeOf(left), sizeOf(right)));
  return CODINGS.has(overload) ? traversal(sizeOf(left)) : 1;
}
