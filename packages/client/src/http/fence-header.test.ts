import { isReason } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { LeaseFence } from '../object-client.ts';
import { formatFence, parseFence } from './fence-header.ts';

const FENCE: LeaseFence = { namespace: 'a', name: 'op.example', uid: 'u-1', holder: 'host_1', transitions: 3 };
const TEXT = 'lease=a%2Fop.example&uid=u-1&holder=host_1&transitions=3';

describe('the header of a term', () => {
  it('has the term', () => {
    expect(formatFence(FENCE)).toBe(TEXT);
    expect(parseFence(TEXT)).toEqual(FENCE);
  });

  it.each(['a b', 'a+b', 'a%2Fb', 'ü→😀', 'a&holder=b', '"\\,;\r\n', '='])('has any name of a holder: %j', (holder) => {
    const text = formatFence({ ...FENCE, holder });
    expect(text).toMatch(/^[!-~]+$/);
    expect(parseFence(text)).toEqual({ ...FENCE, holder });
  });

  it('may be encoded by other programs: fields in another order, characters that need not be escaped', () => {
    expect(parseFence('transitions=2147483647&uid=u-1&lease=a/op.example&holder=system:a+b%20c')).toEqual({
      ...FENCE,
      holder: 'system:a b c',
      transitions: 2_147_483_647,
    });
  });

  it.each<readonly [string, string]>([
    ['', 'must have the fields lease, uid, holder, transitions'],
    ['lease=a/op&uid=u&holder=h', 'must have the fields'],
    [`${TEXT}&more=1`, 'must have no fields but'],
    [`${TEXT}&`, 'must have no fields but'],
    [`${TEXT}&uid=u-2`, 'uid: must be there once'],
    [`${TEXT}, ${TEXT}`, 'must be encoded as a form'],
    [TEXT.replace('host_1', 'ho st'), 'must be encoded as a form'],
    [TEXT.replace('host_1', '%E0%A4'), 'must be encoded as a form'],
    [TEXT.replace('host_1', '%'), 'must be encoded as a form'],
    [TEXT.replace('host_1', ''), 'holder: must not be empty'],
    [TEXT.replace('u-1', ''), 'uid: must have 1 to 128 characters'],
    [TEXT.replace('u-1', 'u'.repeat(129)), 'uid: must have 1 to 128 characters'],
    [TEXT.replace('host_1', 'h'.repeat(4096)), 'must be no more than 4096 characters'],
    ...['op', '/op', 'a/', 'a/b/op', 'a/..', '../a/op', 'a.b/op', 'A/op', 'a/op%00'].map(
      (lease) => [TEXT.replace('a%2Fop.example', lease), 'lease: must be NAMESPACE/NAME'] as const,
    ),
    ...['', '-1', '+1', '1.5', '1e3', '0x1', '01', 'x', '2147483648', '99999999999'].map(
      (transitions) => [TEXT.replace('=3', `=${transitions}`), 'transitions: must be a number from 0'] as const,
    ),
  ])('is refused: %j', (text, problem) => {
    const parse = () => parseFence(text);
    expect(parse).toThrow(`header Gantry-Fence: ${problem}`);
    expect(parse).toThrow(expect.toSatisfy((error) => isReason(error, 'BadRequest')));
  });
});
