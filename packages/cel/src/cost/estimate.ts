import type { CheckedExpr } from '../check/checked.ts';
import type { DeclaredType } from '../declared-type.ts';
import type { Estimate } from '../environment/environment.ts';
import type { CallExpr, Comprehension, Expr } from '../syntax/ast.ts';
import { type CelType, listOf, sameType } from '../types.ts';
import {
  type CallEstimate,
  type CostNode,
  either,
  fixed,
  kubernetesEstimate,
  ONE,
  plus,
  priced,
  standardEstimate,
  times,
  UNBOUNDED,
  UNKNOWN,
  ZERO,
} from './call-estimates.ts';
import { codePoints, LIST_COST, MAP_COST, STRUCT_COST, TRAVERSAL } from './runtime-cost.ts';

/** Estimates the cost of one evaluation. The declared types of the variables bound the sizes of values. */
export function estimateCost(checked: CheckedExpr, declared: ReadonlyMap<string, DeclaredType>): Estimate {
  return new Estimator(checked, declared).cost(checked.expr);
}

/** Sizes of the keys and values in a list or map. */
interface EntrySize {
  readonly isList: boolean;
  readonly key: Estimate;
  readonly value: Estimate;
}

/** A call with the costs of its arguments. */
interface PricedCall {
  readonly expr: CallExpr;
  readonly name: string;
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  readonly costs: readonly Estimate[];
}

interface Local {
  readonly path: readonly string[];
  readonly size: Estimate | undefined;
  readonly entries: EntrySize | undefined;
}

const COMPARISONS = /^(?:equals|not_equals|(?:less|greater)(?:_equals)?_(?:string|bytes))$/;
const SINGLE: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);
const LIMITLESS: Estimate = { min: UNBOUNDED, max: 0 };

class Estimator {
  readonly #checked: CheckedExpr;
  readonly #declared: ReadonlyMap<string, DeclaredType>;
  readonly #root: DeclaredType | undefined;
  readonly #paths = new Map<Expr, readonly string[]>();
  readonly #sizes = new Map<Expr, Estimate>();
  readonly #entries = new Map<Expr, EntrySize>();
  readonly #locals = new Map<string, Local[]>();

  constructor(checked: CheckedExpr, declared: ReadonlyMap<string, DeclaredType>) {
    this.#checked = checked;
    this.#declared = declared;
    [this.#root] = declared.values();
  }

  cost(expr: Expr): Estimate {
    const reference = this.#checked.references.get(expr);
    if (reference?.kind === 'ident' && expr.kind !== 'struct') {
      this.#paths.set(expr, this.#local(reference.name)?.path ?? [reference.name]);
      return ONE;
    }
    switch (expr.kind) {
      case 'select': {
        const operand = this.cost(expr.operand);
        if (expr.test) return operand;
        const kind = this.#checked.typeOf(expr.operand).kind;
        this.#paths.set(expr, [...this.#pathOf(expr.operand), expr.field]);
        return kind === 'map' || kind === 'struct' || kind === 'parameter' ? plus(operand, ONE) : operand;
      }
      case 'call':
        return this.#call(expr);
      case 'list': {
        const parts = expr.elements.map((element) => this.cost(element));
        this.#setEntries(expr, true, ONE, this.#union(expr.elements));
        return plus(...parts, fixed(LIST_COST));
      }
      case 'map': {
        const parts = expr.entries.flatMap((entry) => [this.cost(entry.key), this.cost(entry.value)]);
        const keys = this.#union(expr.entries.map((entry) => entry.key));
        this.#setEntries(expr, false, keys, this.#union(expr.entries.map((entry) => entry.value)));
        return plus(...parts, fixed(MAP_COST));
      }
      case 'struct':
        return plus(...expr.fields.map((field) => this.cost(field.value)), fixed(STRUCT_COST));
      case 'comprehension':
        return isBinding(expr) ? this.#binding(expr) : this.#fold(expr);
      default:
        return ZERO;
    }
  }

  #setEntries(expr: Expr, isList: boolean, key: Estimate, value: Estimate): void {
    this.#entries.set(expr, { isList, key, value });
  }

  #union(exprs: readonly Expr[]): Estimate {
    if (exprs.length === 0) return ZERO;
    return exprs.reduce((union, expr) => either(union, this.#sizeOrUnknown(expr)), LIMITLESS);
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #push(name: string, local: Local): void {
    const stack = this.#locals.get(name) ?? [];
    stack.push(local);
    this.#locals.set(name, stack);
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #pathOf(expr: Expr): readonly string[] {
    const local = expr.kind === 'ident' ? this.#local(expr.name) : undefined;
    return local?.path ?? this.#paths.get(expr) ?? [];
  }

  #call(expr: CallExpr): Estimate {
    if (expr.function === 'dyn' && expr.args[0] !== undefined) {
      const [arg] = expr.args;
      const cost = plus(this.cost(arg), ONE);
      this.#copySizes(expr, arg);
      return cost;
    }
    const costs = expr.args.map((arg) => this.cost(arg));
    const nodes = expr.args.map((arg) => this.#node(arg));
    const reference = this.#checked.references.get(expr);
    if (reference?.kind !== 'call' && expr.function !== '_?._') return ZERO;
    const hasTarget = expr.target !== undefined && !(reference?.kind === 'call' && reference.namespaced);
    const targetCost = hasTarget && expr.target !== undefined ? this.cost(expr.target) : ZERO;
    const target = hasTarget && expr.target !== undefined ? this.#node(expr.target) : undefined;
    const overloads = reference?.kind === 'call' ? reference.overloads.map(({ id }) => id) : ['select_optional_field'];
    const name = reference?.kind === 'call' ? reference.name : expr.function;
    const call = { expr, name, target, args: nodes, costs };
    let total: Estimate = LIMITLESS;
    let size: Estimate | undefined;
    for (const id of overloads) {
      const estimate = this.#overload(id, call);
      total = either(total, estimate.cost);
      if (estimate.size !== undefined) size = size === undefined ? estimate.size : either(size, estimate.size);
      const [container] = expr.args;
      if ((id === 'index_list' || id === 'index_map') && container !== undefined) {
        size = this.#entriesOf(container)?.value;
        this.#paths.set(expr, [...this.#pathOf(container), id === 'index_list' ? '@items' : '@values']);
      }
      size ??= this.#size(expr);
    }
    if (size !== undefined) this.#sizes.set(expr, size);
    return plus(targetCost, total);
  }

  #overload(id: string, { expr, name, target, args, costs }: PricedCall): CallEstimate {
    const [a, b, c] = costs;
    if (id === 'logical_and' || id === 'logical_or') {
      return { cost: { min: a?.min ?? 0, max: plus(a ?? ZERO, b ?? ZERO).max } };
    }
    if (id === 'conditional') {
      this.#joinEntries(expr, expr.args[1], expr.args[2]);
      const size = either(args[1]?.size ?? UNKNOWN, args[2]?.size ?? UNKNOWN);
      return { cost: plus(a ?? ZERO, either(b ?? ZERO, c ?? ZERO)), size };
    }
    const estimate =
      this.#equality(name, args) ??
      kubernetesEstimate(name, id, target, args) ??
      this.#concatenation(expr, id, args) ??
      comparison(id, args) ??
      standardEstimate(id, target, args);
    return { ...estimate, cost: plus(estimate.cost, ...costs) };
  }

  /** Comparing values of Kubernetes' own types has a fixed price. */
  #equality(name: string, [left, right]: readonly CostNode[]): CallEstimate | undefined {
    if (name !== '_==_' || left === undefined || right === undefined || !sameType(left.type, right.type)) {
      return undefined;
    }
    const typeName = left.type.kind === 'struct' || left.type.kind === 'opaque' ? left.type.name : '';
    if (typeName === 'kubernetes.NamedFormat') return { cost: priced({ min: 1, max: 64 }, TRAVERSAL) };
    if (typeName === 'kubernetes.URL') return { cost: priced({ min: 1, max: right.size.max }, TRAVERSAL) };
    return typeName.startsWith('kubernetes.') || typeName.startsWith('net.') ? { cost: ONE } : undefined;
  }

  #concatenation(expr: Expr, id: string, [left, right]: readonly CostNode[]): CallEstimate | undefined {
    if (!/^add_(?:string|bytes|list)$/.test(id) || left === undefined || right === undefined) return undefined;
    const size = plus(left.size, right.size);
    this.#joinEntries(expr, left.expr, right.expr);
    return { cost: id === 'add_list' ? ONE : priced(size, TRAVERSAL), size };
  }

  #joinEntries(expr: Expr, left: Expr | undefined, right: Expr | undefined): void {
    const [a, b] = [left && this.#entriesOf(left), right && this.#entriesOf(right)];
    if (a === undefined || b === undefined) return;
    this.#setEntries(expr, a.isList, either(a.key, b.key), either(a.value, b.value));
  }

  #fold(expr: Comprehension): Estimate {
    const range = this.cost(expr.range);
    const init = this.cost(expr.accuInit);
    this.#push(expr.accuVar, this.#localOf(expr.accuInit));
    const entries = this.#entriesOf(expr.range);
    const isList = entries?.isList ?? this.#checked.typeOf(expr.range).kind === 'list';
    const at = (part: string, size: Estimate | undefined): Local => ({
      path: [...this.#pathOf(expr.range), part],
      size,
      entries: undefined,
    });
    const value = at(isList ? '@items' : '@values', entries?.value);
    const key = at(isList ? '@indices' : '@keys', entries?.key);
    const two = expr.iterVar2 !== undefined;
    this.#push(expr.iterVar, isList && !two ? value : key);
    if (expr.iterVar2 !== undefined) this.#push(expr.iterVar2, value);
    const loop = plus(this.cost(expr.condition), this.cost(expr.step));
    this.#pop(expr.iterVar);
    if (expr.iterVar2 !== undefined) this.#pop(expr.iterVar2);
    const result = this.cost(expr.result);
    this.#pop(expr.accuVar);
    const count = this.#sizeOrUnknown(expr.range);
    if (expr.accuInit.kind === 'literal') this.#sizes.set(expr, this.#sizeOrUnknown(expr.accuInit));
    else if (expr.accuInit.kind === 'list' || expr.accuInit.kind === 'map') {
      this.#sizes.set(expr, count);
      const stepEntries = this.#entriesOf(expr.step);
      if (stepEntries !== undefined) this.#entries.set(expr, stepEntries);
    }
    return plus(range, init, times(count, loop), result);
  }

  #binding(expr: Comprehension): Estimate {
    const cost = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#push(expr.accuVar, this.#localOf(expr.accuInit));
    const result = this.cost(expr.result);
    this.#pop(expr.accuVar);
    this.#copySizes(expr, expr.result);
    return plus(cost, result);
  }

  #localOf(expr: Expr): Local {
    return { path: this.#pathOf(expr), size: this.#size(expr), entries: this.#entriesOf(expr) };
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size !== undefined) this.#sizes.set(to, size);
    const entries = this.#entriesOf(from);
    if (entries !== undefined) this.#entries.set(to, entries);
  }

  #entriesOf(expr: Expr): EntrySize | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined);
  }

  #sizeOrUnknown(expr: Expr): Estimate {
    return this.#size(expr) ?? UNKNOWN;
  }

  #size(expr: Expr): Estimate | undefined {
    const known = this.#sizes.get(expr) ?? literalSize(expr);
    if (known !== undefined) return known;
    const declared = this.#declaredSize(this.#pathOf(expr));
    if (declared !== undefined) {
      this.#sizes.set(expr, declared);
      return declared;
    }
    if (isSingle(this.#checked.typeOf(expr))) return ONE;
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined;
  }

  /** The declared size of the value at the end of a path from a variable. */
  #declaredSize(path: readonly string[]): Estimate | undefined {
    const [variable, ...rest] = path;
    // Like Kubernetes, treats the first part of any path as the one declared variable.
    let type = variable === undefined ? undefined : (this.#declared.get(variable) ?? this.#root);
    for (const part of rest) {
      if (part === '@keys') return { min: 0, max: 0 };
      type = part === '@items' || part === '@values' ? type?.element : type?.fields?.get(part);
    }
    return type === undefined ? undefined : { min: 0, max: type.maxElements };
  }

  #node(expr: Expr): CostNode {
    const type = this.#checked.typeOf(expr);
    return { expr, type, size: this.#sizeOrUnknown(expr), element: this.#elementNode(type, this.#pathOf(expr)) };
  }

  #elementNode(type: CelType, path: readonly string[]): CostNode | undefined {
    if (type.kind !== 'list') return undefined;
    const size = path.length === 0 ? UNKNOWN : (this.#declaredSize([...path, '@items']) ?? UNKNOWN);
    return { expr: undefined, type: type.element, size, element: undefined };
  }
}

function comparison(id: string, [left, right]: readonly CostNode[]): CallEstimate | undefined {
  if (!COMPARISONS.test(id) || left === undefined || right === undefined) return undefined;
  const max = Math.min(left.size.max, right.size.max);
  return { cost: priced({ min: max > 0 ? 1 : 0, max }, TRAVERSAL) };
}

function isSingle(type: CelType): boolean {
  if (type.kind === 'opaque' && type.name === 'optional_type') return isSingle(type.parameters[0] ?? listOf(type));
  return SINGLE.has(type.kind);
}

function literalSize(expr: Expr): Estimate | undefined {
  if (expr.kind === 'list') return fixed(expr.elements.length);
  if (expr.kind === 'map') return fixed(expr.entries.length);
  if (expr.kind !== 'literal') return undefined;
  if (typeof expr.value === 'string') return fixed(codePoints(expr.value));
  return fixed(expr.value instanceof Uint8Array ? expr.value.length : 1);
}

/** A fold over an empty list, which only binds a name to a value. */
function isBinding(expr: Comprehension): boolean {
  return (
    expr.range.kind === 'list' &&
    expr.range.elements.length === 0 &&
    expr.condition.kind === 'literal' &&
    expr.condition.value === false
  );
}
