/**
 * Whole numbers that a double cannot hold are `bigint` in objects (typed as `number`: they compare and print alike) and keep
 * every digit through `JSON.stringify`, which this module teaches to write them. `parseJson` reads them back.
 */
interface JsonWithSource extends JSON {
  rawJSON(text: string): unknown;
}

declare global {
  interface BigInt {
    /** How `JSON.stringify` writes a bigint: as the plain number. */
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

/** The value of a whole number's text: a number where that is exact, else a bigint; undefined beyond 64 bits. */
export function exactInteger(text: string): number | bigint | undefined {
  // A sign and nineteen digits: longer texts are out of range, and would take more than linear time.
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

/** `JSON.parse` that keeps the digits of 64-bit whole numbers. For our own bytes (storage, gRPC), not for what clients send. */
export function parseJson(text: string): unknown {
  if (!/[:[,\s]-?\d{16,}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, reviveExact as Parameters<typeof JSON.parse>[1]);
}
