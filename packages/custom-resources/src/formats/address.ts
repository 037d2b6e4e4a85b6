import { isIP } from 'node:net';

const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;

export function isHostname(text: string): boolean {
  return Buffer.byteLength(text) <= 255 && text.split('.').every((part) => part.length <= 63) && HOSTNAME.test(text);
}

/** Which kind of address a text is; numbers may have zeros before them. */
function familyOf(text: string): number {
  return text.includes('%') ? 0 : isIP(text.replace(/(^|[.:])0+(?=\d+(\.|$))/g, '$1'));
}

/** Addresses of version 6 that end in the form of version 4 count too. */
export function isIpv4(text: string): boolean {
  return text.includes('.') && familyOf(text) !== 0;
}

export function isIpv6(text: string): boolean {
  return text.includes(':') && !text.includes('%') && isIP(text) !== 0;
}

export function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const family = slash < 0 ? 0 : familyOf(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  return family !== 0 && /^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Hardware addresses of 6, 8 or 20 bytes. */
export function isMac(text: string): boolean {
  const pairs = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)$/i;
  const fours = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i;
  if (!pairs.test(text) && !fours.test(text)) return false;
  return [6, 8, 20].includes(text.replace(/[^0-9a-f]/gi, '').length / 2);
}
