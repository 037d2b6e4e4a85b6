const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const MAX = (1n << 63n) - 1n;
/** Longer texts are rejected: no real duration has so many parts. */
const MAX_LENGTH = 10_000;

/** Nanoseconds of a duration in Go's form (`1h30m`, `-1.5s`). Undefined when the text is invalid or the value exceeds 64 bits. */
export function parseGoDuration(text: string): bigint | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return 0n;
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(body)) return undefined;
  let total = 0n;
  for (const [, number = '', unit = ''] of body.matchAll(/([\d.]+)([a-zµμ]+)/g)) {
    const [whole = '', fraction = ''] = number.split('.');
    const scale = UNITS[unit] ?? 0n;
    const units = whole.replace(/^0+/, '');
    if (units.length > 20) return undefined;
    total += BigInt(units === '' ? 0 : units) * scale;
    const digits = fraction.slice(0, 18);
    if (digits !== '') total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    if (total > MAX + 1n) return undefined;
  }
  if (text.startsWith('-')) return -total;
  return total > MAX ? undefined : total;
}

/** Milliseconds of a duration in Go's form, with fractions. Undefined in the same cases as `parseGoDuration`. */
export function parseGoDurationMs(text: string): number | undefined {
  const nanoseconds = parseGoDuration(text);
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1e6;
}
