import { type Issue } from '../source.ts';
import {
  type CallExpr,
  type Comprehension,
  type Expr,
  type Ident,
  type ListExpr,
  type MapExpr,
  qualifiedNameOf,
  type Select,
  type StructExpr,
} from '../syntax/ast.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DYN,
  ERROR,
  formatType,
  INT,
  isDyn,
  isOpen,
  listOf,
  mapOf,
  mapParameters,
  NULL,
  optionalOf,
  parametersOf,
  sameType,
  STRING,
  structOf,
  typeNameOf,
  UINT,
} from '../types.ts';
import { CheckedExpr, type Reference } from './checked.ts';
import { type FunctionDeclaration, type Overload } from '../environment/function-declaration.ts';
import { type Declarations, Scope } from './scope.ts';
import { formatArguments, mostGeneral, Substitution } from './substitution.ts';
import type { CelValue } from '../values/value.ts';

/** Resolves the type of every part of an expression and the meaning of each name and call, or reports issues. */
export function check(expr: Expr, declarations: Declarations): { checked: CheckedExpr; issues: readonly Issue[] } {
  const checker = new Checker(declarations);
  return checker.run(expr);
}

const typeMismatch = (expected: CelType, actual: CelType) =>
  `expected type '${formatType(expected)}' but found '${formatType(actual)}'`;

class Checker {
  readonly #types = new Map<Expr, CelType>();
  readonly #references = new Map<Expr, Reference>();
  readonly #issues: Issue[] = [];
  readonly #substitution = new Substitution();
  #scope: Scope;

  constructor(declarations: Declarations) {
    this.#scope = new Scope(declarations);
  }

  run(expr: Expr): { checked: CheckedExpr; issues: readonly Issue[] } {
    this.#check(expr);
    for (const [part, type] of this.#types) this.#types.set(part, this.#substitution.apply(type, true));
    return { checked: new CheckedExpr(expr, this.#types, this.#references), issues: this.#issues };
  }

  #check(expr: Expr): CelType {
    const type = this.#typeOf(expr);
    this.#types.set(expr, type);
    return type;
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value);
      case 'ident':
        return this.#ident(expr);
      case 'select':
        return this.#select(expr);
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
        return ERROR;
    }
  }

  #report(offset: number, message: string): void {
    this.#issues.push({ offset, message });
  }

  #undeclared(offset: number, name: string): CelType {
    this.#report(offset, `undeclared reference to '${name}' (in container '')`);
    return ERROR;
  }

  #resolve(expr: Expr, name: string): CelType | undefined {
    const ident = this.#scope.ident(name);
    if (ident === undefined) return undefined;
    this.#references.set(expr, { kind: 'ident', name: ident.name, typeName: ident.typeName });
    return ident.type;
  }

  #ident(expr: Ident): CelType {
    return this.#resolve(expr, expr.name) ?? this.#undeclared(expr.offset, expr.name);
  }

  #select(expr: Select): CelType {
    const qualified = qualifiedNameOf(expr);
    const named = qualified === undefined ? undefined : this.#resolve(expr, qualified);
    if (named !== undefined) return named;
    const result = this.#field(expr, expr.operand, expr.field, false);
    return expr.test ? BOOL : this.#substitution.apply(result, false);
  }

  #field(expr: Expr, operand: Expr, field: string, optional: boolean): CelType {
    const operandType = this.#substitution.apply(this.#check(operand), false);
    const unwrapped = unwrapOptional(operandType);
    const result = this.#fieldOf(expr, unwrapped ?? operandType, field);
    return unwrapped !== undefined || optional ? optionalOf(result) : result;
  }

  #fieldOf(expr: Expr, type: CelType, field: string): CelType {
    switch (type.kind) {
      case 'map':
        return type.value;
      case 'struct':
        return this.#structField(expr.offset, type.name, field) ?? ERROR;
      case 'parameter':
        this.#substitution.isAssignable(DYN, type);
        return DYN;
      case 'dyn':
      case 'error':
        return DYN;
      default:
        this.#report(expr.offset, `type '${formatType(type)}' does not support field selection`);
        return DYN;
    }
  }

  #structField(offset: number, struct: string, field: string): CelType | undefined {
    const type = this.#scope.fieldType(struct, field);
    if (type === null) this.#report(offset, `unexpected failed resolution of '${struct}'`);
    else if (type === undefined) this.#report(offset, `undefined field '${field}'`);
    return type ?? undefined;
  }

  #call(expr: CallExpr): CelType {
    if (expr.function === '_?._') return this.#optionalSelect(expr);
    const args = expr.args.map((arg) => this.#check(arg));
    if (expr.target === undefined) {
      const fn = this.#scope.function(expr.function);
      if (fn === undefined) return this.#undeclared(expr.offset, expr.function);
      return this.#overloads(expr, fn, args, false, false);
    }
    const prefix = qualifiedNameOf(expr.target);
    const namespaced = prefix === undefined ? undefined : this.#scope.function(`${prefix}.${expr.function}`);
    if (namespaced !== undefined) return this.#overloads(expr, namespaced, args, false, true);
    const target = this.#check(expr.target);
    const fn = this.#scope.function(expr.function);
    if (fn === undefined) return this.#undeclared(expr.offset, expr.function);
    return this.#overloads(expr, fn, [target, ...args], true, false);
  }

  #optionalSelect(expr: CallExpr): CelType {
    const [operand, field] = expr.args;
    if (operand === undefined || field?.kind !== 'literal' || typeof field.value !== 'string') return ERROR;
    return this.#substitution.apply(this.#field(expr, operand, field.value, true), false);
  }

  #overloads(
    expr: CallExpr,
    fn: FunctionDeclaration,
    args: readonly CelType[],
    member: boolean,
    namespaced: boolean,
  ): CelType {
    if (fn.name === '_&&_' || fn.name === '_||_') return this.#logic(expr, fn, args);
    const matching: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of fn.overloads) {
      if (overload.member !== member) continue;
      const instance = this.#instantiate(overload);
      if (!this.#substitution.isAssignableList(args, instance.args)) continue;
      matching.push(overload);
      const type = this.#substitution.apply(instance.result, false);
      if (result === undefined) result = type;
      else if (!isDyn(result) && !sameType(type, result)) result = DYN;
    }
    if (result === undefined) {
      const types = args.map((type) => this.#substitution.apply(type, true));
      const message = `found no matching overload for '${fn.name}' applied to '${formatArguments(types, member)}'`;
      this.#report(expr.offset, message);
      return ERROR;
    }
    this.#references.set(expr, { kind: 'call', name: fn.name, overloads: matching, namespaced });
    return result;
  }

  /** The overload's types with fresh type parameters. */
  #instantiate(overload: Overload): { readonly args: readonly CelType[]; readonly result: CelType } {
    const fresh = new Map<string, CelType>();
    const replace = (type: CelType): CelType => {
      if (!isOpen(type)) return type;
      if (type.kind !== 'parameter') return mapParameters(type, replace);
      const known = fresh.get(type.name) ?? this.#substitution.freshParameter();
      fresh.set(type.name, known);
      return known;
    };
    return { args: overload.args.map(replace), result: replace(overload.result) };
  }

  #logic(expr: CallExpr, fn: FunctionDeclaration, args: readonly CelType[]): CelType {
    let result: CelType = BOOL;
    for (const [index, type] of args.entries()) {
      if (this.#substitution.isAssignable(type, BOOL)) continue;
      this.#report(expr.args[index]?.offset ?? expr.offset, typeMismatch(BOOL, type));
      result = ERROR;
    }
    this.#references.set(expr, { kind: 'call', name: fn.name, overloads: fn.overloads, namespaced: false });
    return result;
  }

  /** The type of an element written with `?`: the optional's parameter. */
  #unwrapElement(expr: Expr, type: CelType, optional: boolean): CelType {
    if (!optional) return type;
    const unwrapped = unwrapOptional(type);
    if (unwrapped === undefined && !isDyn(type)) this.#report(expr.offset, typeMismatch(optionalOf(type), type));
    return unwrapped ?? type;
  }

  #list(expr: ListExpr): CelType {
    let element: CelType | undefined;
    for (const [index, part] of expr.elements.entries()) {
      const type = this.#unwrapElement(part, this.#check(part), expr.optional.has(index));
      element = this.#join(element, type);
    }
    return listOf(element ?? this.#substitution.freshParameter());
  }

  #map(expr: MapExpr): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      key = this.#join(key, this.#check(entry.key));
      value = this.#join(value, this.#unwrapElement(entry.value, this.#check(entry.value), entry.optional));
    }
    return mapOf(key ?? this.#substitution.freshParameter(), value ?? this.#substitution.freshParameter());
  }

  /** Types that do not agree become dyn. `validateLiterals` rejects literals of mixed types later. */
  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current;
    return this.#substitution.isAssignable(previous, current) ? mostGeneral(previous, current) : DYN;
  }

  #struct(expr: StructExpr): CelType {
    const ident = this.#scope.ident(expr.name);
    if (ident === undefined) return this.#undeclared(expr.offset, expr.name);
    let type: CelType = ERROR;
    const named = ident.type.kind === 'type' ? parametersOf(ident.type)[0] : undefined;
    if (ident.type.kind !== 'type') this.#report(expr.offset, `'${typeNameOf(ident.type)}' is not a type`);
    else if (named?.kind === 'struct') type = structOf(named.name);
    else this.#report(expr.offset, `'${named === undefined ? 'type' : typeNameOf(named)}' is not a message type`);
    this.#references.set(expr, { kind: 'ident', name: ident.name, typeName: ident.name });
    for (const field of expr.fields) {
      const value = this.#unwrapElement(field.value, this.#check(field.value), field.optional);
      const expected = this.#structField(field.offset, ident.name, field.name) ?? ERROR;
      if (this.#substitution.isAssignable(expected, value)) continue;
      const message = `expected type of field '${field.name}' is '${formatType(expected)}' but provided type is '${formatType(value)}'`;
      this.#report(field.offset, message);
    }
    return type;
  }

  #comprehension(expr: Comprehension): CelType {
    const rangeType = this.#check(expr.range);
    const accuType = this.#check(expr.accuInit);
    const range = this.#substitution.apply(rangeType, false);
    const outer = this.#scope;
    const accu = outer.within(new Map([[expr.accuVar, accuType]]));
    const [first, second] = this.#iterated(expr, range);
    const locals = new Map([[expr.iterVar, first]]);
    if (expr.iterVar2 !== undefined) locals.set(expr.iterVar2, second);
    this.#scope = accu.within(locals);
    this.#check(expr.condition);
    this.#assert(expr.condition, BOOL);
    this.#check(expr.step);
    this.#assert(expr.step, accuType);
    this.#scope = accu;
    const result = this.#check(expr.result);
    this.#scope = outer;
    return this.#substitution.apply(result, false);
  }

  #iterated(expr: Comprehension, range: CelType): readonly [CelType, CelType] {
    const two = expr.iterVar2 !== undefined;
    switch (range.kind) {
      case 'list':
        return two ? [INT, range.element] : [range.element, DYN];
      case 'map':
        return [range.key, range.value];
      case 'dyn':
      case 'error':
      case 'parameter':
        this.#substitution.isAssignable(DYN, range);
        return [DYN, DYN];
      default: {
        const message = `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.#report(expr.range.offset, message);
        return [ERROR, ERROR];
      }
    }
  }

  #assert(expr: Expr, type: CelType): void {
    const actual = this.#types.get(expr) ?? ERROR;
    if (!this.#substitution.isAssignable(type, actual)) this.#report(expr.offset, typeMismatch(type, actual));
  }
}

function unwrapOptional(type: CelType): CelType | undefined {
  return type.kind === 'opaque' && type.name === 'optional_type' ? type.parameters[0] : undefined;
}

/** The type of a literal's value. */
function literalType(value: CelValue): CelType {
  if (value === null) return NULL;
  switch (typeof value) {
    case 'boolean':
      return BOOL;
    case 'bigint':
      return INT;
    case 'number':
      return DOUBLE;
    case 'string':
      return STRING;
    default:
      return value instanceof Uint8Array ? BYTES : UINT;
  }
}
