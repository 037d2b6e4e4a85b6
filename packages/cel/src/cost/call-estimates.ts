import type { Estimate } from '../environment/environment.ts';
import type { Expr } from '../syntax/ast.ts';
import type { CelType } from '../types.ts';
import { AUTHORIZATION_COST, LIST_COST, PATTERN, STRUCT_COST, TRAVERSAL } from './runtime-cost.ts';

/** The part of an argument that estimates use. */
export interface CostNode {
  readonly expr: Expr | undefined;
  readonly type: CelType;
  readonly size: Estimate;
  /** The element, if the argument is a list. */
  readonly element: CostNode | undefined;
}

/** The cost of a call without that of its arguments, and the size of the result where it is known. */
export interface CallEstimate {
  readonly cost: Estimate;
  readonly size?: Estimate;
}

type Rule = (target: CostNode | undefined, args: readonly CostNode[], overload: string) => CallEstimate | undefined;

const nominal: Rule = () => ({ cost: ONE });

const readArgument =
  (factor = 1, sized = false): Rule =>
  (_target, [arg]) =>
    arg && { cost: priced(arg.size, factor * TRAVERSAL), ...(sized ? { size: arg.size } : {}) };

const readTarget: Rule = (target) => target && { cost: priced(target.size, TRAVERSAL), size: target.size };

const matching = (text: Estimate, pattern: Estimate) =>
  times(priced(plus(text, ONE), TRAVERSAL), priced(pattern, PATTERN));

const elements: Rule = (target) => {
  if (target === undefined) return undefined;
  const { element } = target;
  if (element === undefined) return { cost: priced(target.size, TRAVERSAL) };
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes';
  return { cost: times(target.size, isText ? plus(ONE, priced(element.size, TRAVERSAL)) : ONE) };
};

const selector: Rule = (_target, [arg]) => {
  if (arg === undefined) return undefined;
  const requirements = priced(priced(arg.size, 0.5), LIST_COST + STRUCT_COST);
  return { cost: plus(fixed(LIST_COST), priced(arg.size, TRAVERSAL), requirements) };
};

const find: Rule = (target, [pattern]) =>
  target && pattern && { cost: matching(target.size, pattern.size), size: { min: 0, max: target.size.max } };

const replace: Rule = (target, [old, by]) => {
  if (target === undefined || old === undefined || by === undefined) return undefined;
  const { size } = target;
  const grown = (limit: number, part: number, whole: number, keeps: boolean) => {
    if (part === 0) return { count: limit < UNBOUNDED ? limit + 1 : limit, kept: limit };
    return keeps ? { count: 0, kept: whole } : { count: Math.ceil(limit / part), kept: 0 };
  };
  const most = grown(size.max, old.size.min, size.max, by.size.max <= old.size.min);
  const least = grown(size.min, old.size.max, size.min, old.size.max <= by.size.min);
  const replaced = times({ min: least.count, max: most.count }, by.size);
  return {
    cost: priced(size, 2 * TRAVERSAL),
    size: plus(replaced, { min: least.kept, max: most.kept }),
  };
};

const split: Rule = (target, [, limit]) => {
  if (target === undefined) return undefined;
  const literal = limit?.expr?.kind === 'literal' ? limit.expr.value : undefined;
  const max = typeof literal === 'bigint' ? Number(BigInt.asUintN(64, literal)) : target.size.max;
  return { cost: priced(target.size, 2 * TRAVERSAL), size: { min: 0, max } };
};

const join: Rule = (target, [separator]) => {
  if (target === undefined) return undefined;
  let size = target.element === undefined ? fixed(0) : times(target.size, target.element.size);
  if (separator !== undefined) {
    const gaps = { min: Math.max(0, target.size.min - 1), max: Math.max(0, target.size.max - 1) };
    size = plus(size, times(separator.size, gaps));
  }
  return { cost: priced(size, TRAVERSAL), size };
};

/** Size of an address in bytes. */
const ADDRESS: Estimate = { min: 4, max: 16 };

const network =
  (masks: boolean): Rule =>
  (_target, [other], overload) => {
    if (other === undefined) return undefined;
    const compare = priced(plus(ADDRESS, ADDRESS), TRAVERSAL);
    const mask = masks ? plus(priced(ADDRESS, TRAVERSAL), ONE) : fixed(0);
    const parse = overload.endsWith('_string') ? priced(other.size, TRAVERSAL) : fixed(0);
    return { cost: plus(compare, mask, parse) };
  };

/** A call that fills a list with `count` elements. */
const filling = (size: Estimate, factor: number): CallEstimate => ({
  cost: plus(priced(size, factor), fixed(LIST_COST), ONE),
  size,
});

const literalInt = (node: CostNode | undefined, otherwise: number) => {
  const value = node?.expr?.kind === 'literal' ? node.expr.value : undefined;
  return typeof value === 'bigint' && value >= 0n ? Number(value) : otherwise;
};

const setOperation =
  (factor: number): Rule =>
  (_target, [left, right]) =>
    left && right && { cost: plus(priced(times(left.size, right.size), factor), ONE) };

const rules = (names: string, rule: Rule) => names.split(' ').map((name) => [name, rule] as const);

const VALIDATION = 128 * PATTERN;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['check', () => ({ cost: fixed(AUTHORIZATION_COST) })],
  ...rules('serviceAccount path group resource subresource namespace name allowed reason error errored', nominal),
  ...rules('fieldSelector labelSelector', selector),
  ...rules('isSorted sum max min indexOf lastIndexOf', elements),
  ...rules('url jsonpatch.escapeKey', readArgument(1, true)),
  ...rules('lowerAscii upperAscii substring trim', readTarget),
  ['replace', replace],
  ['split', split],
  ['join', join],
  ...rules('find findAll', find),
  ...rules('cidr isIP isCIDR quantity isQuantity semver isSemver', readArgument()),
  ['ip', (target, args, overload) => (overload === 'cidr_ip' ? { cost: ONE } : readArgument()(target, args, overload))],
  ['ip.isCanonical', readArgument(2)],
  ...rules(
    'masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast',
    nominal,
  ),
  ['containsIP', network(false)],
  ['containsCIDR', network(true)],
  ['validate', (_target, [text]) => text && { cost: priced(priced(text.size, TRAVERSAL), VALIDATION) }],
  ['format.named', nominal],
  ...rules('sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub', nominal),
  ...rules('major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery', nominal),
  ['slice', (target, [from, to]) => target && filling(fixed(literalInt(to, target.size.max) - literalInt(from, 0)), 1)],
  ['lists.range', (_target, [count]) => filling(fixed(literalInt(count, UNBOUNDED)), 1)],
  ['reverse', (target) => target && filling(target.size, 1)],
  [
    'flatten',
    (target, [depth]) => target && filling(target.size, depth === undefined ? 1 : literalInt(depth, UNBOUNDED)),
  ],
  ['distinct', (target) => target && filling(times(target.size, target.size), 2)],
  ...rules('sort @sortByAssociatedKeys', (target) => target && filling(times(target.size, target.size), 2)),
  ...rules('sets.contains sets.intersects', setOperation(1)),
  ['sets.equivalent', setOperation(2)],
]);

/** Kubernetes' estimate of a call; undefined where cel-go's is used. */
export function kubernetesEstimate(
  name: string,
  overload: string,
  target: CostNode | undefined,
  args: readonly CostNode[],
): CallEstimate | undefined {
  return RULES.get(name)?.(target, args, overload);
}

/** cel-go's estimate of a call. Operators that depend on whole expressions are estimated elsewhere. */
export function standardEstimate(
  overload: string,
  target: CostNode | undefined,
  args: readonly CostNode[],
): CallEstimate {
  const [first, second] = args;
  switch (overload) {
    case 'string_format':
      return { cost: target === undefined ? ONE : priced(target.size, TRAVERSAL) };
    case 'string_to_bytes':
      if (first === undefined) break;
      return { cost: priced(first.size, TRAVERSAL), size: { min: first.size.min, max: first.size.max * 4 } };
    case 'bytes_to_string':
      if (first === undefined) break;
      return {
        cost: priced(first.size, TRAVERSAL),
        size: { min: Math.floor(first.size.min / 4), max: first.size.max },
      };
    case 'strings_quote':
      if (first === undefined) break;
      return { cost: priced(first.size, TRAVERSAL), size: { min: first.size.min + 2, max: first.size.max * 2 + 2 } };
    case 'starts_with_string':
    case 'ends_with_string':
      if (first !== undefined) return { cost: priced(first.size, TRAVERSAL) };
      break;
    case 'in_list':
      if (second !== undefined) return { cost: second.size };
      break;
    case 'matches_string':
      if (target !== undefined && first !== undefined) return { cost: matching(target.size, first.size) };
      break;
    case 'contains_string':
      if (target === undefined || first === undefined) break;
      return { cost: times(priced(target.size, TRAVERSAL), priced(first.size, TRAVERSAL)) };
    default:
      break;
  }
  return { cost: ONE };
}

/** The cost that represents overflow: 2^64, because JavaScript rounds the largest uint64 up by one. */
export const UNBOUNDED = 2 ** 64;

const clamp = (value: number) => Math.min(value, UNBOUNDED);

export const fixed = (value: number): Estimate => ({ min: value, max: value });
export const UNKNOWN: Estimate = { min: 0, max: UNBOUNDED };
export const ZERO = fixed(0);
export const ONE = fixed(1);

export function plus(...parts: readonly Estimate[]): Estimate {
  let [min, max] = [0, 0];
  for (const part of parts) {
    min = clamp(min + part.min);
    max = clamp(max + part.max);
  }
  return { min, max };
}

export function times(left: Estimate, right: Estimate): Estimate {
  const product = (a: number, b: number) => (a === 0 || b === 0 ? 0 : clamp(a * b));
  return { min: product(left.min, right.min), max: product(left.max, right.max) };
}

/** Multiplies by a price per unit and rounds up. */
export function priced(size: Estimate, price: number): Estimate {
  return { min: clamp(Math.ceil(size.min * price)), max: clamp(Math.ceil(size.max * price)) };
}

/** The smallest range that covers both. */
export function either(left: Estimate, right: Estimate): Estimate {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) };
}
