import { type CelValue } from '../values/value.ts';

interface Node {
  /** The position that messages about the expression point to. */
  readonly offset: number;
}

export interface Literal extends Node {
  readonly kind: 'literal';
  readonly value: CelValue;
}

export interface Ident extends Node {
  readonly kind: 'ident';
  readonly name: string;
}

/** `operand.field`, or `has(operand.field)` with `test`. */
export interface Select extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  readonly test: boolean;
}

export interface CallExpr extends Node {
  readonly kind: 'call';
  readonly function: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
  /** Indices of elements written with `?`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry extends Node {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapExpr extends Node {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface FieldInit extends Node {
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

/** `name{field: value}`. */
export interface StructExpr extends Node {
  readonly kind: 'struct';
  readonly name: string;
  readonly fields: readonly FieldInit[];
}

/**
 * The expansion of a macro: folds `range` into `accuVar`, from `accuInit` by `step` while `condition` holds, and yields `result`. With
 * `iterVar2`, `iterVar` is the index or key and `iterVar2` the element or value.
 */
export interface Comprehension extends Node {
  readonly kind: 'comprehension';
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Placeholder for text with a syntax error; an issue was reported. */
export interface Unspecified extends Node {
  readonly kind: 'unspecified';
}

export type Expr = Literal | Ident | Select | CallExpr | ListExpr | MapExpr | StructExpr | Comprehension | Unspecified;

/** `a.b.c` if the expression consists of names only; otherwise undefined. */
export function qualifiedNameOf(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.test) return undefined;
  const prefix = qualifiedNameOf(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}
