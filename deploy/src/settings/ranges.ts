/** An IPv4 range, `10.0.0.0/8`. */
export type Cidr = string;

interface Bounds {
  readonly first: number;
  readonly last: number;
}

/** Whether two ranges overlap. Invalid ranges never do. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  const [a, b] = [boundsOf(one), boundsOf(other)];
  return a !== undefined && b !== undefined && a.first <= b.last && b.first <= a.last;
}

function boundsOf(cidr: Cidr): Bounds | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(cidr);
  if (match === null) return undefined;
  const address = match.slice(1, 5).reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(match[5] ?? 32));
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1 };
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
