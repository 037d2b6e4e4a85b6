import { type CelValue } from '../values/value.ts';
import { type CallExpr, type Comprehension, type Expr, type Ident, type ListExpr, type Literal } from './ast.ts';

/** The accumulator of macros; expressions cannot refer to it. */
export const ACCUMULATOR = '@result';

/** Creates the expressions that a macro adds, all at one offset. */
export function exprsAt(offset: number) {
  return {
    literal: (value: CelValue): Literal => ({ kind: 'literal', offset, value }),
    ident: (name: string): Ident => ({ kind: 'ident', offset, name }),
    call: (name: string, ...args: readonly Expr[]): CallExpr => ({
      kind: 'call',
      offset,
      function: name,
      target: undefined,
      args,
    }),
    memberCall: (name: string, target: Expr, ...args: readonly Expr[]): CallExpr => ({
      kind: 'call',
      offset,
      function: name,
      target,
      args,
    }),
    list: (...elements: readonly Expr[]): ListExpr => ({ kind: 'list', offset, elements, optional: new Set() }),
    map: (): Expr => ({ kind: 'map', offset, entries: [] }),
    fold: (
      range: Expr,
      variables: readonly [string, string?],
      fold: Pick<Comprehension, 'accuInit' | 'condition' | 'step'> & { accuVar?: string; result?: Expr },
    ): Comprehension => ({
      kind: 'comprehension',
      offset,
      range,
      iterVar: variables[0],
      iterVar2: variables[1],
      accuVar: fold.accuVar ?? ACCUMULATOR,
      accuInit: fold.accuInit,
      condition: fold.condition,
      step: fold.step,
      result: fold.result ?? { kind: 'ident', offset, name: ACCUMULATOR },
    }),
  };
}

export type ExprFactory = ReturnType<typeof exprsAt>;

/** A deep copy of the expression: the checker needs distinct nodes at each position. */
export function copyExpr(expr: Expr): Expr {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
    case 'unspecified':
      return { ...expr };
    case 'select':
      return { ...expr, operand: copyExpr(expr.operand) };
    case 'call':
      return {
        ...expr,
        target: expr.target === undefined ? undefined : copyExpr(expr.target),
        args: expr.args.map(copyExpr),
      };
    case 'list':
      return { ...expr, elements: expr.elements.map(copyExpr) };
    case 'map':
      return {
        ...expr,
        entries: expr.entries.map((entry) => ({ ...entry, key: copyExpr(entry.key), value: copyExpr(entry.value) })),
      };
    case 'struct':
      return { ...expr, fields: expr.fields.map((field) => ({ ...field, value: copyExpr(field.value) })) };
    case 'comprehension':
      return {
        ...expr,
        range: copyExpr(expr.range),
        accuInit: copyExpr(expr.accuInit),
        condition: copyExpr(expr.condition),
        step: copyExpr(expr.step),
        result: copyExpr(expr.result),
      };
  }
}

/** The number of nodes in the expression. */
export function sizeOfExpr(expr: Expr): number {
  return partsOf(expr).reduce((size, part) => size + sizeOfExpr(part), 1);
}

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
    case 'unspecified':
      return [];
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case 'struct':
      return expr.fields.map((field) => field.value);
    case 'comprehension':
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
  }
}
