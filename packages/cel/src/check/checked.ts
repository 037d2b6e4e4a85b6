import { type Expr } from '../syntax/ast.ts';
import { type CelType, DYN } from '../types.ts';
import { type Overload } from '../environment/function-declaration.ts';

/** The meaning of a name or a call. */
export type Reference =
  | { readonly kind: 'ident'; readonly name: string; readonly typeName: string | undefined }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly overloads: readonly Overload[];
      /** The receiver is part of the function's name: `optional.of(x)`. */
      readonly namespaced: boolean;
    };

/** An expression with the type and the meaning of each of its parts. */
export class CheckedExpr {
  readonly expr: Expr;
  readonly types: ReadonlyMap<Expr, CelType>;
  readonly references: ReadonlyMap<Expr, Reference>;

  constructor(expr: Expr, types: ReadonlyMap<Expr, CelType>, references: ReadonlyMap<Expr, Reference>) {
    this.expr = expr;
    this.types = types;
    this.references = references;
  }

  typeOf(expr: Expr): CelType {
    return this.types.get(expr) ?? DYN;
  }

  /** Calls `visit` for every expression in the tree, outer before inner. */
  walk(visit: (expr: Expr) => void): void {
    for (const expr of this.types.keys()) visit(expr);
  }
}
