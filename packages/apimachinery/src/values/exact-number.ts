/**
 * Integers that a double cannot hold are `bigint` in objects (typed as `number`: they compare and print alike). They keep every digit in
 * `JSON.stringify`, because this module defines `BigInt.prototype.toJSON`. `parseJson` reads them back.
 */
interface JsonWithSource extends JSON {
  rawJSON(text: string): unknown;
}

declare global {
  interface BigInt {
    /** `JSON.stringify` writes a bigint as a plain number. */
    toJSON(): unknown;
  }
}

Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint): unknown {
    return (JSON as JsonWithSource).rawJSON(this.toString());
  },
});

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** The value of an integer's text: a number if that is exact, else a bigint; undefined beyond 64 bits. */
export function exactInteger(text: string): number | bigint | undefined {
  // A sign and nineteen digits. Longer texts are out of range, and BigInt needs more than linear time for them.
  if (text.length > 20) return undefined;
  const value = BigInt(text);
  if (value < MIN_INT64 || value > MAX_INT64) return undefined;
  const double = Number(value);
  return String(double) === value.toString() ? double : value;
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

const reviveExact: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || context.source === undefined || !/^-?\d{16,}$/.test(context.source)) return value;
  return exactInteger(context.source) ?? value;
};

/** `JSON.parse` that keeps the digits of 64-bit integers. Only for our own data (storage, gRPC), not for data from clients. */
export function parseJson(text: string): unknown {
  if (!/(?:^|[:[,\s])-?\d{16,}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, reviveExact as Parameters<typeof JSON.parse>[1]);
}
