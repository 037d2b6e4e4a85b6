import type { CheckedExpr } from '../check/checked.ts';
import { callCost, growthCost, LIST_COST, MAP_COST, STRUCT_COST } from '../cost/runtime-cost.ts';
import type { StructTypes } from '../environment/environment.ts';
import type { CallExpr, Comprehension, Expr, ListExpr, MapExpr, Select, StructExpr } from '../syntax/ast.ts';
import { ArrayList, EntryMap } from '../values/collections.ts';
import { LiteralSet, NO_SUCH_OVERLOAD } from '../values/compare.ts';
import {
  CelError,
  CelMap,
  CelOptional,
  type CelResult,
  CelTypeValue,
  type CelValue,
  isError,
} from '../values/value.ts';
import { access, lookUp } from './access.ts';
import { noSuchOverload, selectOverload } from './dispatch.ts';
import { fold, type FoldPlan } from './fold.ts';
import { Frame } from './frame.ts';

/** Evaluates one part of an expression. */
export type Step = (frame: Frame) => CelResult;

/** Thrown when a constant part of an expression has no value. */
export class ConstantFailure extends Error {
  readonly error: CelError;

  constructor(error: CelError) {
    super(error.message);
    this.error = error;
  }
}

/** Functions of a text and a pattern. */
const PATTERN_FUNCTIONS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

/** Functions that may take long even with small arguments. */
const TAKES_LONG: ReadonlySet<string> = new Set([...PATTERN_FUNCTIONS, 'lists.range']);

/** Conversions of literals, done once when planning; they must succeed. */
const FOLDED: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'int',
  'string',
  'timestamp',
  'uint',
]);

/** Turns a checked expression into functions that evaluate it. Throws ConstantFailure. */
export class Planner {
  readonly #checked: CheckedExpr;
  readonly #structs: StructTypes;
  /** Variables of the enclosing folds with their slots, innermost last. */
  readonly #locals: (readonly [name: string, slot: number])[] = [];
  #slots = 0;

  constructor(checked: CheckedExpr, structs: StructTypes) {
    this.#checked = checked;
    this.#structs = structs;
  }

  plan(expr: Expr): Step {
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr;
        return () => value;
      }
      case 'ident':
        return this.#name(expr) ?? (() => new CelError(`no such attribute(s): ${expr.name}`));
      case 'select':
        return this.#name(expr) ?? this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return this.#comprehension(expr);
      case 'unspecified':
        return () => new CelError('unspecified expression');
    }
  }

  #name(expr: Expr): Step | undefined {
    const reference = this.#checked.references.get(expr);
    if (reference?.kind !== 'ident') return undefined;
    const { name, typeName } = reference;
    const slot = this.#locals.findLast(([local]) => local === name)?.[1];
    if (slot !== undefined) {
      return (frame) => {
        frame.charge(1);
        const value = frame.locals[slot];
        return value === undefined ? new CelError(`no such attribute(s): ${name}`) : value;
      };
    }
    if (typeName !== undefined) {
      const type = new CelTypeValue(typeName);
      return (frame) => {
        frame.charge(1);
        return type;
      };
    }
    return (frame) => {
      frame.charge(1);
      return frame.variable(name);
    };
  }

  /** The operand of a select or an index. Only paths that start at a name add to the cost. */
  #operand(expr: Expr): Step {
    const step = this.plan(expr);
    if (isPath(expr)) return step;
    return (frame) => {
      const value = step(frame);
      frame.charge(1);
      return value;
    };
  }

  #select(expr: Select): Step {
    const operand = this.#operand(expr.operand);
    const { field } = expr;
    if (expr.test) {
      return (frame) => {
        const value = operand(frame);
        return isError(value) ? value : hasField(value, field);
      };
    }
    return (frame) => this.#access(frame, operand(frame), field);
  }

  #access(frame: Frame, container: CelResult, key: CelValue): CelResult {
    if (isError(container)) return container;
    if (!(container instanceof CelOptional)) {
      frame.charge(1);
      return access(container, key);
    }
    return this.#accessOptional(frame, container, key);
  }

  /** Accesses the value of an optional; an absent optional stays absent. */
  #accessOptional(frame: Frame, optional: CelOptional, key: CelValue): CelResult {
    const found = optional.value === undefined ? undefined : lookUp(optional.value, key);
    if (isError(found)) return found;
    if (found === undefined) return new CelOptional(undefined);
    frame.charge(1);
    return new CelOptional(found);
  }

  #call(expr: CallExpr): Step {
    const args = expr.args;
    switch (expr.function) {
      case '_&&_':
        return this.#logic(expr, false);
      case '_||_':
        return this.#logic(expr, true);
      case '_?_:_':
        return this.#conditional(expr);
      case '_[_]':
        return this.#index(expr, false);
      case '_[?_]':
      case '_?._':
        return this.#index(expr, true);
      case '@not_strictly_false': {
        const step = this.plan(args[0] as Expr);
        return (frame) => {
          const value = step(frame);
          frame.charge(1);
          return value !== false;
        };
      }
      case '@in': {
        const constant = constantElements(args[1]);
        if (constant !== undefined) return this.#membership(args[0] as Expr, constant);
        break;
      }
      default:
        break;
    }
    return this.#function(expr);
  }

  /** `in` over a list of literals is one look-up and costs nothing. */
  #membership(element: Expr, constants: readonly CelValue[]): Step {
    const step = this.plan(element);
    const literals = new LiteralSet(constants);
    return (frame) => {
      const value = step(frame);
      return isError(value) ? value : literals.has(value);
    };
  }

  #function(expr: CallExpr): Step {
    const reference = this.#checked.references.get(expr);
    if (reference?.kind !== 'call') return () => NO_SUCH_OVERLOAD;
    const { name, overloads } = reference;
    const target = reference.namespaced ? undefined : expr.target;
    const all = target === undefined ? expr.args : [target, ...expr.args];
    const steps = all.map((arg) => this.plan(arg));
    // A literal pattern was compiled with its expression.
    const takesPattern = PATTERN_FUNCTIONS.has(name) && all[1]?.kind !== 'literal';
    const run = (frame: Frame): CelResult => {
      const known = frame.recall(run);
      if (known !== undefined) return known;
      const args: CelValue[] = [];
      let failure: CelError | undefined;
      for (const step of steps) {
        const value = step(frame);
        if (isError(value)) failure ??= value;
        else args.push(value);
        if (failure !== undefined) break;
      }
      if (failure !== undefined) {
        frame.charge(1);
        return failure;
      }
      const overload = selectOverload(overloads, args);
      if (overload === undefined) {
        frame.charge(1);
        return noSuchOverload(name, args);
      }
      const mayTakeLong = TAKES_LONG.has(name) || args.some(isLarge);
      const startedAt = mayTakeLong ? frame.now() : 0;
      if (takesPattern && typeof args[1] === 'string') frame.chargePattern(args[1]);
      frame.charge(callCost(name, overload.id, args));
      const result = overload.call(...args);
      frame.charge(growthCost(name, result));
      return mayTakeLong ? frame.keep(run, startedAt, result) : result;
    };
    return FOLDED.has(name) && all.every((arg) => arg.kind === 'literal') ? foldConstant(run) : run;
  }

  /** Either operand may decide the result; an error in the other one is then ignored. */
  #logic(expr: CallExpr, decisive: boolean): Step {
    const [left, right] = expr.args.map((arg) => this.plan(arg)) as [Step, Step];
    return (frame) => {
      const first = left(frame);
      if (first === decisive) return decisive;
      const second = right(frame);
      if (second === decisive) return decisive;
      if (typeof first === 'boolean' && typeof second === 'boolean') return !decisive;
      if (isError(first)) return first;
      return isError(second) ? second : NO_SUCH_OVERLOAD;
    };
  }

  #conditional(expr: CallExpr): Step {
    const [condition, ifTrue, ifFalse] = expr.args.map((arg) => this.plan(arg)) as [Step, Step, Step];
    return (frame) => {
      const chosen = condition(frame);
      if (isError(chosen)) return chosen;
      if (typeof chosen !== 'boolean') return NO_SUCH_OVERLOAD;
      return chosen ? ifTrue(frame) : ifFalse(frame);
    };
  }

  #index(expr: CallExpr, optional: boolean): Step {
    const container = this.#operand(expr.args[0] as Expr);
    const key = this.plan(expr.args[1] as Expr);
    return (frame) => {
      const held = container(frame);
      if (isError(held)) return held;
      const wanted = key(frame);
      if (isError(wanted)) return wanted;
      if (!optional) return this.#access(frame, held, wanted);
      return this.#accessOptional(frame, held instanceof CelOptional ? held : new CelOptional(held), wanted);
    };
  }

  #list(expr: ListExpr): Step {
    const constant = constantOf(expr);
    if (constant !== undefined) return () => constant;
    const elements = expr.elements.map((element) => this.plan(element));
    const { optional } = expr;
    return (frame) => {
      const values: CelValue[] = [];
      for (const [index, step] of elements.entries()) {
        const value = step(frame);
        if (isError(value)) return charged(frame, LIST_COST, value);
        if (!optional.has(index)) values.push(value);
        else if (!(value instanceof CelOptional)) {
          return charged(
            frame,
            LIST_COST,
            new CelError('cannot initialize optional list element from non-optional value'),
          );
        } else if (value.value !== undefined) values.push(value.value);
      }
      return charged(frame, LIST_COST, new ArrayList(values));
    };
  }

  #map(expr: MapExpr): Step {
    const constant = constantOf(expr);
    if (constant !== undefined) return () => constant;
    const entries = expr.entries.map((entry) => ({
      key: this.plan(entry.key),
      value: this.plan(entry.value),
      optional: entry.optional,
    }));
    return (frame) => {
      const held: [CelValue, CelValue][] = [];
      for (const entry of entries) {
        const key = entry.key(frame);
        if (isError(key)) return charged(frame, MAP_COST, key);
        const value = entry.value(frame);
        if (isError(value)) return charged(frame, MAP_COST, value);
        const present = entry.optional ? heldBy(value) : value;
        if (present !== undefined) held.push([key, present]);
      }
      return charged(frame, MAP_COST, EntryMap.of(held));
    };
  }

  #struct(expr: StructExpr): Step {
    const reference = this.#checked.references.get(expr);
    const name = reference?.name ?? expr.name;
    const fields = expr.fields.map((field) => ({ ...field, step: this.plan(field.value) }));
    return (frame) => {
      const held = new Map<string, CelValue>();
      for (const field of fields) {
        const value = field.step(frame);
        if (isError(value)) return charged(frame, STRUCT_COST, value);
        const present = field.optional ? heldBy(value) : value;
        if (present !== undefined) held.set(field.name, present);
      }
      const created = this.#structs.create?.(name, held) ?? new CelError(`unknown type: ${name}`);
      return charged(frame, STRUCT_COST, created);
    };
  }

  #comprehension(expr: Comprehension): Step {
    const range = this.plan(expr.range);
    const accuInit = this.plan(expr.accuInit);
    const accu = this.#slots++;
    this.#locals.push([expr.accuVar, accu]);
    const first = this.#slots++;
    const second = expr.iterVar2 === undefined ? undefined : this.#slots++;
    this.#locals.push([expr.iterVar, first]);
    if (second !== undefined && expr.iterVar2 !== undefined) this.#locals.push([expr.iterVar2, second]);
    const condition = this.plan(expr.condition);
    const step = this.plan(expr.step);
    this.#locals.length -= second === undefined ? 1 : 2;
    const result = this.plan(expr.result);
    this.#locals.pop();
    const plan: FoldPlan = { range, accuInit, condition, step, result, accu, first, second };
    return (frame) => fold(plan, frame);
  }
}

/** Texts up to this length are read in negligible time. */
const SHORT = 256;

/** Whether functions may take long to read a value. */
function isLarge(value: CelValue): boolean {
  return typeof value === 'string' ? value.length > SHORT : typeof value === 'object' && value !== null;
}

function charged(frame: Frame, cost: number, result: CelResult): CelResult {
  frame.charge(cost);
  return result;
}

function heldBy(value: CelValue): CelValue | undefined {
  return value instanceof CelOptional ? value.value : value;
}

/** Whether the expression is a path: a name, and fields or indices of it. */
function isPath(expr: Expr): boolean {
  if (expr.kind === 'ident') return true;
  if (expr.kind === 'select') return true;
  return expr.kind === 'call' && ['_[_]', '_[?_]', '_?._'].includes(expr.function);
}

function hasField(value: CelValue, field: string): CelResult {
  const held = value instanceof CelOptional ? value.value : value;
  if (held === undefined) return false;
  const found = lookUp(held, field);
  if (isError(found) && !(held instanceof CelMap)) return found;
  return found !== undefined;
}

function foldConstant(run: Step): Step {
  const value = run(new Frame(() => NO_SUCH_OVERLOAD, Infinity));
  if (isError(value)) throw new ConstantFailure(value);
  return () => value;
}

/** The value of an expression made of literals only; undefined for any other. */
function constantOf(expr: Expr): CelValue | undefined {
  if (expr.kind === 'literal') return expr.value;
  if (expr.kind === 'list' && expr.optional.size === 0) {
    const elements = expr.elements.map(constantOf);
    return elements.every((element) => element !== undefined) ? new ArrayList(elements) : undefined;
  }
  if (expr.kind !== 'map' || expr.entries.some((entry) => entry.optional)) return undefined;
  const entries: [CelValue, CelValue][] = [];
  for (const entry of expr.entries) {
    const [key, value] = [constantOf(entry.key), constantOf(entry.value)];
    if (key === undefined || value === undefined) return undefined;
    entries.push([key, value]);
  }
  const map = EntryMap.of(entries);
  return isError(map) ? undefined : map;
}

function constantElements(expr: Expr | undefined): readonly CelValue[] | undefined {
  if (expr?.kind !== 'list' || expr.optional.size > 0) return undefined;
  const values: CelValue[] = [];
  for (const element of expr.elements) {
    if (element.kind !== 'literal') return undefined;
    values.push(element.value);
  }
  return values;
}
