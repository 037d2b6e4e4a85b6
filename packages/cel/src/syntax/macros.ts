import { type Issue } from '../source.ts';
import { type Expr } from './ast.ts';
import { ACCUMULATOR, copyExpr, type ExprFactory, exprsAt, sizeOfExpr } from './build.ts';

/** The expansion of a call, an issue about its arguments, or undefined when the call is not this macro. */
export type Expansion = { readonly expr: Expr } | { readonly issue: Issue } | undefined;

type Expander = (make: ExprFactory, target: Expr, args: readonly Expr[]) => Expr | Issue;

/** Expands a macro call, at the offset of its parenthesis. */
export function expandMacro(name: string, target: Expr | undefined, args: readonly Expr[], offset: number): Expansion {
  if (target === undefined) {
    const operand = name === 'has' && args.length === 1 ? args[0] : undefined;
    return operand === undefined ? undefined : expandHas(operand, offset);
  }
  const expander = RECEIVER_MACROS[`${name}:${args.length}`];
  if (expander === undefined) return undefined;
  const result = expander(exprsAt(offset), target, args);
  return 'message' in result ? { issue: result } : { expr: result };
}

function expandHas(operand: Expr, offset: number): Expansion {
  if (operand.kind !== 'select') {
    return { issue: { offset: operand.offset, message: 'invalid argument to has() macro' } };
  }
  return { expr: { kind: 'select', offset, operand: operand.operand, field: operand.field, test: true } };
}

const isIssue = (value: object): value is Issue => 'message' in value;

const OVERWRITES = 'iteration variable overwrites accumulator variable';

function variable(expr: Expr | undefined, message: string): { readonly name: string } | Issue {
  if (expr?.kind !== 'ident') return { offset: expr?.offset ?? -1, message };
  const taken = expr.name === ACCUMULATOR || expr.name === '__result__';
  return taken ? { offset: expr.offset, message: OVERWRITES } : { name: expr.name };
}

/** Macros with one and with two variables differ only in how the variables are read. */
type Fold = (make: ExprFactory, variables: readonly [string, string?], target: Expr, args: readonly Expr[]) => Expr;

function overOne(fold: Fold, message: string): Expander {
  return (make, target, args) => {
    const read = variable(args[0], message);
    return isIssue(read) ? read : fold(make, [read.name], target, args.slice(1));
  };
}

function overTwo(fold: Fold): Expander {
  return (make, target, args) => {
    const [first, second] = [args[0], args[1]];
    for (const arg of [first, second]) {
      if (arg?.kind !== 'ident') return { offset: arg?.offset ?? -1, message: 'argument must be a simple name' };
    }
    if (first?.kind === 'ident' && second?.kind === 'ident' && first.name === second.name) {
      return { offset: second.offset, message: `duplicate variable name: ${first.name}` };
    }
    const [one, two] = [variable(first, ''), variable(second, '')];
    if (isIssue(one)) return one;
    return isIssue(two) ? two : fold(make, [one.name, two.name], target, args.slice(2));
  };
}

const accu = (make: ExprFactory) => make.ident(ACCUMULATOR);

/** The last argument, and the optional filter before it. */
function filtered(make: ExprFactory, args: readonly Expr[], stepOf: (transform: Expr) => Expr): Expr {
  const transform = args.at(-1) ?? make.literal(null);
  const step = stepOf(transform);
  const filter = args.length > 1 ? args[0] : undefined;
  return filter === undefined ? step : make.call('_?_:_', filter, step, accu(make));
}

const all: Fold = (make, variables, target, args) =>
  make.fold(target, variables, {
    accuInit: make.literal(true),
    condition: make.call('@not_strictly_false', accu(make)),
    step: make.call('_&&_', accu(make), ...args),
  });

const exists: Fold = (make, variables, target, args) =>
  make.fold(target, variables, {
    accuInit: make.literal(false),
    condition: make.call('@not_strictly_false', make.call('!_', accu(make))),
    step: make.call('_||_', accu(make), ...args),
  });

const existsOne: Fold = (make, variables, target, args) =>
  make.fold(target, variables, {
    accuInit: make.literal(0n),
    condition: make.literal(true),
    step: make.call('_?_:_', ...args, make.call('_+_', accu(make), make.literal(1n)), accu(make)),
    result: make.call('_==_', accu(make), make.literal(1n)),
  });

const map: Fold = (make, variables, target, args) =>
  make.fold(target, variables, {
    accuInit: make.list(),
    condition: make.literal(true),
    step: filtered(make, args, (transform) => make.call('_+_', accu(make), make.list(transform))),
  });

const filter: Fold = (make, variables, target, [predicate]) =>
  make.fold(target, variables, {
    accuInit: make.list(),
    condition: make.literal(true),
    step: make.call(
      '_?_:_',
      predicate ?? make.literal(true),
      make.call('_+_', accu(make), make.list(make.ident(variables[0]))),
      accu(make),
    ),
  });

const transformMap: Fold = (make, variables, target, args) =>
  make.fold(target, variables, {
    accuInit: make.map(),
    condition: make.literal(true),
    step: filtered(make, args, (value) => make.call('cel.@mapInsert', accu(make), make.ident(variables[0]), value)),
  });

const transformMapEntry: Fold = (make, variables, target, args) =>
  make.fold(target, variables, {
    accuInit: make.map(),
    condition: make.literal(true),
    step: filtered(make, args, (entries) => make.call('cel.@mapInsert', accu(make), entries)),
  });

/** Binds a name to a value for one expression: a fold over an empty list whose accumulator is the name. */
function bind(make: ExprFactory, name: string, value: Expr, within: Expr): Expr {
  return make.fold(make.list(), ['#unused'], {
    accuVar: name,
    accuInit: value,
    condition: make.literal(false),
    step: make.ident(name),
    result: within,
  });
}

function optionalMap(name: string, wrap: (make: ExprFactory, mapped: Expr) => Expr): Expander {
  return (make, target, args) => {
    const [parameter, mapped] = args;
    if (parameter?.kind !== 'ident') {
      return { offset: parameter?.offset ?? -1, message: `${name}() variable name must be a simple identifier` };
    }
    if (sizeOfExpr(target) > MAX_COPIED) return { offset: target.offset, message: `${name}() target is too large` };
    const value = make.memberCall('value', copyExpr(target));
    return make.call(
      '_?_:_',
      make.memberCall('hasValue', target),
      wrap(make, bind(make, parameter.name, value, mapped ?? make.literal(null))),
      make.call('optional.none'),
    );
  };
}

/** The expansion contains the target twice; a chain of such calls doubles it each time. */
const MAX_COPIED = 10_000;

const SORTED = '@__sortBy_input__';
const SORTABLE: ReadonlySet<string> = new Set(['list', 'select', 'ident', 'comprehension', 'call']);

const sortBy: Expander = (make, target, args) => {
  if (!SORTABLE.has(target.kind)) {
    const message = 'sortBy can only be applied to a list, identifier, comprehension, call or select expression';
    return { offset: target.offset, message };
  }
  const keys = overOne(map, NOT_IDENTIFIER)(make, make.ident(SORTED), args);
  if (isIssue(keys)) return keys;
  return bind(make, SORTED, target, make.memberCall('@sortByAssociatedKeys', make.ident(SORTED), keys));
};

const NOT_NAME = 'argument must be a simple name';
const NOT_IDENTIFIER = 'argument is not an identifier';

/** By name and number of arguments. */
const RECEIVER_MACROS: Readonly<Record<string, Expander>> = {
  'all:2': overOne(all, NOT_NAME),
  'all:3': overTwo(all),
  'exists:2': overOne(exists, NOT_NAME),
  'exists:3': overTwo(exists),
  'exists_one:2': overOne(existsOne, NOT_NAME),
  'exists_one:3': overTwo(existsOne),
  'existsOne:3': overTwo(existsOne),
  'filter:2': overOne(filter, NOT_IDENTIFIER),
  'map:2': overOne(map, NOT_IDENTIFIER),
  'map:3': overOne(map, NOT_IDENTIFIER),
  'optFlatMap:2': optionalMap('optFlatMap', (_make, mapped) => mapped),
  'optMap:2': optionalMap('optMap', (make, mapped) => make.call('optional.of', mapped)),
  'sortBy:2': sortBy,
  'transformList:3': overTwo(map),
  'transformList:4': overTwo(map),
  'transformMap:3': overTwo(transformMap),
  'transformMap:4': overTwo(transformMap),
  'transformMapEntry:3': overTwo(transformMapEntry),
  'transformMapEntry:4': overTwo(transformMapEntry),
};
