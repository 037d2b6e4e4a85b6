import { describe, expect, it } from 'vitest';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { isAgentError } from '../runtime/agent-error.ts';
import { AddressPool, podRange } from './address-pool.ts';

describe('addresses', () => {
  it('leaves the first quarter of the range and the broadcast address out', () => {
    expect(podRange('10.1.0.0/24')).toEqual({ first: 0x0a010040, last: 0x0a0100fe });
    expect(() => podRange('10.1.0.0')).toThrow('pod range');
  });

  it('rotates, and gives no address again before its rest is over', async () => {
    const clock = new ManualClock();
    const pool = new AddressPool('10.1.0.0/28', clock, seededRandom(1));
    const first = Array.from({ length: 9 }, () => pool.take('network'));
    expect(new Set(first).size).toBe(9);
    expect(pool.take('network')).toBe(first[0]);
    for (const address of first) pool.rest(address);
    expect(() => pool.take('network')).toThrow(expect.toSatisfy((error) => isAgentError(error, 'NoAddress')));
    expect(['10.1.0.13', '10.1.0.14']).toContain(pool.take('engine'));
    await clock.advance(60_000);
    expect(first).toContain(pool.take('network'));
  });
});
