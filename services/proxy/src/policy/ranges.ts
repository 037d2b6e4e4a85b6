import { formatIpv4 } from '@gantry/objects';

/** The first and the last number of a range of addresses or ports. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** Every IPv4 address. */
export const ALL_ADDRESSES: Range = { first: 0, last: 2 ** 32 - 1 };

/** Returns the same numbers as ordered ranges that neither overlap nor touch. */
export function mergeRanges(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = [];
  for (const range of ranges.toSorted((one, other) => one.first - other.first)) {
    const last = merged.at(-1);
    if (last === undefined || range.first > last.last + 1) merged.push(range);
    else if (range.last > last.last) merged[merged.length - 1] = { first: last.first, last: range.last };
  }
  return merged;
}

/** Returns the rest of a range without the other ranges, in order. */
export function subtractRanges(range: Range, without: readonly Range[]): readonly Range[] {
  const left: Range[] = [];
  let next = range.first;
  for (const { first, last } of mergeRanges(without)) {
    if (last < next) continue;
    if (first > range.last) break;
    if (first > next) left.push({ first: next, last: first - 1 });
    next = last + 1;
  }
  if (next <= range.last) left.push({ first: next, last: range.last });
  return left;
}

/** `10.0.0.1`, or `10.0.0.0-10.0.0.255`. */
export function formatAddresses({ first, last }: Range): string {
  return first === last ? formatIpv4(first) : `${formatIpv4(first)}-${formatIpv4(last)}`;
}

/** `80`, or `8000-8080`. */
export function formatPorts({ first, last }: Range): string {
  return first === last ? String(first) : `${first}-${last}`;
}
