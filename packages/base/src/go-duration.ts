const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 1e-6,
};
const PART = String.raw`(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)`;
const WHOLE = new RegExp(`^(?:${PART})+$`);

/** Milliseconds of a duration in Go's form without a sign, `1m30.5s`; undefined for any other text. */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!WHOLE.test(text)) return undefined;
  const parts = [...text.matchAll(new RegExp(PART, 'g'))];
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_MS[unit] ?? 0), 0);
}
