import {
  type CelType,
  DYN,
  formatType,
  isDyn,
  listOf,
  mapOf,
  opaqueOf,
  parametersOf,
  sameType,
  typeNameOf,
  typeOfType,
} from '../types.ts';

const isDynOrError = (type: CelType) => isDyn(type) || type.kind === 'error';

/** Kinds whose values may be null. */
const NULLABLE: ReadonlySet<string> = new Set(['null', 'opaque', 'struct', 'duration', 'timestamp', 'dyn']);

/**
 * What the free type parameters of an expression stand for. Grows while the expression is checked; an attempt that fails leaves no
 * trace.
 */
export class Substitution {
  readonly #bound = new Map<string, CelType>();
  /** Undoes, newest last. */
  readonly #trail: (readonly [name: string, before: CelType | undefined])[] = [];
  #fresh = 0;

  /** A parameter that nothing else mentions. */
  freshParameter(): CelType {
    return { kind: 'parameter', name: `_var${this.#fresh++}` };
  }

  /** Whether values of `right` may stand where `left` is wanted, or the other way round; binds parameters accordingly. */
  isAssignable(left: CelType, right: CelType): boolean {
    return this.#attempt(() => this.#assignable(left, right));
  }

  isAssignableList(left: readonly CelType[], right: readonly CelType[]): boolean {
    return this.#attempt(() => this.#assignableList(left, right));
  }

  /** The type with bound parameters replaced; unbound ones become dyn with `toDyn`. */
  apply(type: CelType, toDyn: boolean): CelType {
    switch (type.kind) {
      case 'parameter': {
        const bound = this.#bound.get(type.name);
        if (bound !== undefined) return this.apply(bound, toDyn);
        return toDyn ? DYN : type;
      }
      case 'list':
        return listOf(this.apply(type.element, toDyn));
      case 'map':
        return mapOf(this.apply(type.key, toDyn), this.apply(type.value, toDyn));
      case 'opaque':
        return type.parameters.length === 0
          ? type
          : opaqueOf(type.name, ...type.parameters.map((parameter) => this.apply(parameter, toDyn)));
      case 'type':
        return type.parameter === undefined ? type : typeOfType(this.apply(type.parameter, toDyn));
      default:
        return type;
    }
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

  /** Whether the parameter is, or may become, the type. */
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
    if (sameType(parameter, within)) return true;
    if (within.kind === 'parameter') {
      const bound = this.#bound.get(within.name);
      return bound !== undefined && this.#occursIn(parameter, bound);
    }
    return parametersOf(within).some((part) => this.#occursIn(parameter, part));
  }
}

/** The more general of two types that are known to agree. */
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

/** Arguments as messages print them: `(int, string)`, `string.(int)` of a member. */
export function formatArguments(types: readonly CelType[], member: boolean): string {
  const [receiver, ...rest] = types.map(formatType);
  return member ? `${receiver}.(${rest.join(', ')})` : `(${types.map(formatType).join(', ')})`;
}
