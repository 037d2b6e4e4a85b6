import { describe, expect, it } from 'vitest';
import { formatContinueToken, parseContinueToken } from './continue-token.ts';

describe('a continue token', () => {
  it('is read as it was written', () => {
    const token = { resourceVersion: 512, start: 'n/name' };
    expect(parseContinueToken(formatContinueToken(token))).toEqual(token);
    const newest = { resourceVersion: undefined, start: 'n/name' };
    expect(parseContinueToken(formatContinueToken(newest))).toEqual(newest);
  });

  it('does not lead out of its list', () => {
    for (const start of ['../secrets/n/name', 'n/../../secrets', './n', 'n//name', 'n/', '..']) {
      const token = formatContinueToken({ resourceVersion: 512, start });
      expect(() => parseContinueToken(token), start).toThrow('continue key is not valid');
    }
  });
});
