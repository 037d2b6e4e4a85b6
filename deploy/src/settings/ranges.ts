import { type AddressRange, parseIpv4Range } from '@gantry/objects';

/** An IPv4 range, `10.0.0.0/8`. */
export type Cidr = string;

/** Whether two ranges overlap. Invalid ranges never do. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  const [a, b] = [rangeOf(one), rangeOf(other)];
  return a !== undefined && b !== undefined && a.first <= b.last && b.first <= a.last;
}

/** Whether a range contains all of another. Invalid ranges neither contain nor are contained. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  const [a, b] = [rangeOf(outer), rangeOf(inner)];
  return a !== undefined && b !== undefined && a.first <= b.first && b.last <= a.last;
}

/** An address alone is a range too. */
function rangeOf(cidr: Cidr): AddressRange | undefined {
  return parseIpv4Range(cidr.includes('/') ? cidr : `${cidr}/32`);
}

/** Parses Linux' `/proc/net/route`, without the default route. */
export function parseRoutes(text: string): readonly { readonly device: string; readonly cidr: Cidr }[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device = '', destination = '', , , , , , mask = ''] = line.trim().split(/\s+/);
      if (destination === '' || mask === '' || mask === '00000000') return [];
      const bytes = (destination.match(/../g) ?? []).reverse().map((byte) => Number.parseInt(byte, 16));
      const ones = [...Number.parseInt(mask, 16).toString(2)].filter((bit) => bit === '1').length;
      return [{ device, cidr: `${bytes.join('.')}/${ones}` }];
    });
}
