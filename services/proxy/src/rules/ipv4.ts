/** Without leading zeros, which mean octal numbers to some programs. */
const OCTET = String.raw`(0|[1-9]\d{0,2})`;
const ADDRESS = new RegExp(`^${OCTET}\\.${OCTET}\\.${OCTET}\\.${OCTET}$`);

/** An IPv4 range as the numbers of its first and last address. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** The number of an IPv4 address; undefined for any other text. */
export function parseAddress(text: string): number | undefined {
  const parts = ADDRESS.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

/** `10.0.0.0/8` as a range; undefined for any other text. Bits below the prefix do not matter. */
export function parseRange(text: string): Range | undefined {
  const [address = '', prefix = '', ...rest] = text.trim().split('/');
  const number = parseAddress(address);
  const bits = Number(prefix);
  if (number === undefined || rest.length > 0 || !/^\d{1,2}$/.test(prefix) || bits > 32) return undefined;
  const size = 2 ** (32 - bits);
  const first = Math.floor(number / size) * size;
  return { first, last: first + size - 1 };
}

/** Whether the text is an IPv4 address of the range. */
export function contains(range: Range, address: string): boolean {
  const number = parseAddress(address);
  return number !== undefined && number >= range.first && number <= range.last;
}
