import { describe, expect, it } from 'vitest';
import { unlimitedGroupIn } from './escalation-check.ts';

const NAME = 'system:masters';
const ORGANIZATION = [0x06, 0x03, 0x55, 0x04, 0x0a];

/** The part of a certificate request's DER that contains an organisation. */
function pem(tag: number, value: Buffer, length: readonly number[] = [value.length]): string {
  const der = Buffer.from([0x30, 0x40, ...ORGANIZATION, tag, ...length, ...value]);
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
}

const wide = (width: number) => Buffer.from([...NAME].flatMap((c) => [...Array(width - 1).fill(0), c.charCodeAt(0)]));
const found = (text: string) => unlimitedGroupIn(Buffer.from(text).toString('base64'));

describe('a request in the name of a group that no role limits', () => {
  it.each(['system:masters', 'gantry:services', 'gantry:apiservers'])('is found for %s', (group) => {
    expect(found(pem(0x0c, Buffer.from(group)))).toBe(group);
  });

  it.each([
    ['a UTF8String', pem(0x0c, Buffer.from(NAME))],
    ['a PrintableString', pem(0x13, Buffer.from(NAME))],
    ['a BMPString', pem(0x1e, wide(2))],
    ['a UniversalString', pem(0x1c, wide(4))],
    ['a length of two bytes', pem(0x0c, Buffer.from(NAME), [0x81, NAME.length])],
    ['a second block', `x${pem(0x0c, Buffer.from('other'))}${pem(0x0c, Buffer.from(NAME))}`],
  ])('is found in %s', (_, text) => {
    expect(found(text)).toBe(NAME);
  });

  it.each([
    ['another organisation', pem(0x0c, Buffer.from(`${NAME}2`))],
    ['nothing', ''],
    ['no block', NAME],
  ])('is not found in %s', (_, text) => {
    expect(found(text)).toBeUndefined();
  });
});
