import {
  type CelType,
  DYN,
  formatType,
  isDyn,
  isOpen,
  mapParameters,
  parametersOf,
  sameType,
  typeNameOf,
} from '../types.ts';

const isDynOrError = (type: CelType) => isDyn(type) || type.kind === 'error';

/** Kinds whose values may be null. */
const NULLABLE: ReadonlySet<string> = new Set(['null', 'opaque', 'struct', 'duration', 'timestamp', 'dyn']);

/**
 * The bindings of an expression's free type parameters. Grows while the expression is checked; a failed attempt is undone.
 */
export class Substitution {
  readonly #bound = new Map<string, CelType>();
  /** Previous bindings, newest last. */
  readonly #trail: (readonly [name: string, before: CelType | undefined])[] = [];
  #fresh = 0;

  /** A type parameter that is not used yet. */
  freshParameter(): CelType {
    return { kind: 'parameter', name: `_var${this.#fresh++}` };
  }

  /** Whether one of the types is assignable to the other; binds parameters accordingly. */
  isAssignable(left: CelType, right: CelType): boolean {
    return this.#attempt(() => this.#assignable(left, right));
  }

  isAssignableList(left: readonly CelType[], right: readonly CelType[]): boolean {
    return this.#attempt(() => this.#assignableList(left, right));
  }

  /** The type with bound parameters replaced. With `toDyn`, unbound parameters become dyn. */
  apply(type: CelType, toDyn: boolean): CelType {
    if (!isOpen(type)) return type;
    if (type.kind !== 'parameter') return mapParameters(type, (parameter) => this.apply(parameter, toDyn));
    const bound = this.#bound.get(type.name);
    if (bound !== undefined) return this.apply(bound, toDyn);
    return toDyn ? DYN : type;
  }

  #attempt(body: () => boolean): boolean {
    const mark = this.#trail.length;
    if (body()) return true;
    while (this.#trail.length > mark) {
      const [name, before] = this.#trail.pop() ?? ['', undefined];
      if (before === undefined) this.#bound.delete(name);
      else this.#bound.set(name, before);
    }
    return false;
  }

  #bind(name: string, type: CelType): void {
    this.#trail.push([name, this.#bound.get(name)]);
    this.#bound.set(name, type);
  }

  #assignableList(left: readonly CelType[], right: readonly CelType[]): boolean {
    return left.length === right.length && left.every((type, index) => this.#assignable(type, right[index] as CelType));
  }

  #assignable(left: CelType, right: CelType): boolean {
    if (right.kind === 'parameter') {
      const outcome = this.#standsFor(right, left);
      if (outcome.valid) return true;
      if (outcome.bound) return false;
    }
    if (left.kind === 'parameter') return this.#standsFor(left, right).valid;
    if (isDynOrError(left) || isDynOrError(right)) return true;
    if (left.kind === 'null') return NULLABLE.has(right.kind);
    if (right.kind === 'null') return NULLABLE.has(left.kind);
    if (left.kind !== right.kind) return false;
    if (left.kind === 'type') return true;
    return typeNameOf(left) === typeNameOf(right) && this.#assignableList(parametersOf(left), parametersOf(right));
  }

  /** Whether the parameter is bound to the type or can be. */
  #standsFor(
    parameter: CelType & { readonly kind: 'parameter' },
    type: CelType,
  ): { readonly valid: boolean; readonly bound: boolean } {
    if (sameType(parameter, type)) return { valid: true, bound: true };
    const bound = this.#bound.get(parameter.name);
    if (bound !== undefined) {
      if (sameType(type, bound)) return { valid: true, bound: true };
      if (!this.#assignable(type, bound)) return { valid: false, bound: true };
      const general = mostGeneral(type, bound);
      if (!this.#occursIn(parameter, general)) this.#bind(parameter.name, general);
      return { valid: true, bound: true };
    }
    if (this.#occursIn(parameter, type)) return { valid: false, bound: false };
    this.#bind(parameter.name, type);
    return { valid: true, bound: false };
  }

  #occursIn(parameter: CelType, within: CelType): boolean {
    if (!isOpen(within)) return false;
    if (sameType(parameter, within)) return true;
    if (within.kind === 'parameter') {
      const bound = this.#bound.get(within.name);
      return bound !== undefined && this.#occursIn(parameter, bound);
    }
    return parametersOf(within).some((part) => this.#occursIn(parameter, part));
  }
}

/** The more general of two compatible types. */
export function mostGeneral(left: CelType, right: CelType): CelType {
  return isEqualOrLessSpecific(left, right) ? left : right;
}

function isEqualOrLessSpecific(left: CelType, right: CelType): boolean {
  if (isDyn(left) || left.kind === 'parameter') return true;
  if (isDyn(right) || right.kind === 'parameter' || left.kind !== right.kind) return false;
  if (left.kind === 'type') return true;
  const [ours, theirs] = [parametersOf(left), parametersOf(right)];
  return (
    typeNameOf(left) === typeNameOf(right) &&
    ours.length === theirs.length &&
    ours.every((type, index) => isEqualOrLessSpecific(type, theirs[index] as CelType))
  );
}

/** Arguments as messages print them: `(int, string)`, or `string.(int)` for a member. */
export function formatArguments(types: readonly CelType[], member: boolean): string {
  const [receiver, ...rest] = types.map(formatType);
  return member ? `${receiver}.(${rest.join(', ')})` : `(${types.map(formatType).join(', ')})`;
}
