import { numeric } from './compare.ts';
import type { CelValue } from './value.ts';

/** Literals to look values up in: `in` over a list of them, in one step. Made once for an expression. */
export class LiteralSet {
  readonly #plain: ReadonlySet<unknown>;
  readonly #bytes: ReadonlySet<string>;

  constructor(literals: readonly CelValue[]) {
    this.#plain = new Set(literals.map(keyOf).filter((key) => key !== undefined));
    this.#bytes = new Set(literals.filter((literal) => literal instanceof Uint8Array).map(textOf));
  }

  /** Whether some literal equals the value: numbers of different types by value, NaN never. */
  has(value: CelValue): boolean {
    if (value instanceof Uint8Array) return this.#bytes.size > 0 && this.#bytes.has(textOf(value));
    const key = keyOf(value);
    return key !== undefined && this.#plain.has(key);
  }
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

/** Equal values have one key. Undefined for NaN, and for values of which there are no literals. */
function keyOf(value: CelValue): unknown {
  const number = numeric(value);
  if (typeof number === 'number' && Number.isNaN(number)) return undefined;
  if (typeof number === 'number') return Number.isInteger(number) ? BigInt(number) : number;
  if (number !== undefined) return number;
  return value === null || typeof value !== 'object' ? value : undefined;
}
