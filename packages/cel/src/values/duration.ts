/** Formats a duration as seconds with as few digits as possible: `1.5s`. */
export function formatSeconds(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? '-' : '';
  const absolute = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = (absolute % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return `${sign}${absolute / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
}
