import { describe, expect, it } from 'vitest';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { isAgentError } from '../runtime/agent-error.ts';
import { AddressPool, podRanges } from './address-pool.ts';

describe('addresses', () => {
  it('are those of the parts of the range for pods', () => {
    expect(podRanges('10.1.0.0/24')).toEqual({
      network: { first: 0x0a010040, last: 0x0a01008f },
      engine: { first: 0x0a010090, last: 0x0a01009f },
    });
    expect(() => podRanges('10.1.0.0')).toThrow('pod range');
  });

  it('rotates, and gives no address again before its rest is over', async () => {
    const clock = new ManualClock();
    const pool = new AddressPool('10.1.0.0/28', clock, seededRandom(1));
    const first = Array.from({ length: 5 }, () => pool.take('network'));
    expect(new Set(first).size).toBe(5);
    expect(pool.take('network')).toBe(first[0]);
    for (const address of first) pool.rest(address);
    expect(() => pool.take('network')).toThrow(expect.toSatisfy((error) => isAgentError(error, 'NoAddress')));
    expect(pool.take('engine')).toBe('10.1.0.9');
    await clock.advance(60_000);
    expect(first).toContain(pool.take('network'));
  });
});
