/** What is asked of a measured value. */
export type Limit = { readonly atMost: number } | { readonly atLeast: number };

/** Says whether a value keeps its limit. Where it does not, the command ends with exit code 1. `unit` follows both numbers. */
export function judge(what: string, value: number, limit: Limit, unit: string): string {
  const [isKept, words] =
    'atMost' in limit
      ? [value <= limit.atMost, `at most ${round(limit.atMost)}`]
      : [value >= limit.atLeast, `at least ${round(limit.atLeast)}`];
  if (!isKept) process.exitCode = 1;
  return `- ${isKept ? 'kept' : 'MISSED'}: ${what} ${round(value)}${unit}, asked is ${words}${unit}`;
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
