import { StatusError } from '@gantry/api';
import type { Random } from '@gantry/base';

/** A range of IPv4 addresses; the first and the last are nobody's, the second is the API's own. */
export interface AddressRange {
  readonly text: string;
  readonly base: number;
  readonly size: number;
}

/** Reads `10.96.0.0/16`. */
export function parseAddressRange(text: string): AddressRange {
  const [address = '', bits = ''] = text.split('/');
  const base = parseAddress(address);
  const prefix = /^\d+$/.test(bits) ? Number(bits) : Number.NaN;
  if (base === undefined || !(prefix >= 8 && prefix <= 28)) {
    throw StatusError.internal(`the range of Service addresses is not valid: ${text}`);
  }
  const size = 2 ** (32 - prefix);
  return { text, base: base - (base % size), size };
}

/** An address as a number; undefined when the text is none. */
export function parseAddress(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

/** Whether a Service can have the address. */
export function containsAddress(range: AddressRange, text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && address > range.base && address < range.base + range.size - 1;
}

/** The address of `default/kubernetes`. */
export function firstAddress(range: AddressRange): string {
  return formatAddress(range.base + 1);
}

/** An address at random, never the first. */
export function randomAddress(range: AddressRange, random: Random): string {
  return formatAddress(range.base + 2 + Math.floor(random() * (range.size - 3)));
}
