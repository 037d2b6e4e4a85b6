import { describe, expect, it } from 'vitest';
import { SecretMemory } from './secret-memory.ts';

const MIB = 2 ** 20;

describe('the memory for Secrets', () => {
  it.each([
    [2 ** 30, 64 * MIB],
    [2 ** 33, 256 * MIB],
    [2 ** 40, 512 * MIB],
  ])('of a host with %d bytes has %d', (host, size) => {
    expect(new SecretMemory(host).sizeBytes).toBe(size);
  });

  it('has room for every pod with little, whatever pods with much have', () => {
    const memory = new SecretMemory(2 ** 40);
    for (const uid of ['a', 'b', 'c', 'd']) memory.reserve(uid, 32 * MIB);
    expect(() => memory.reserve('e', 3 * MIB)).toThrow(
      expect.objectContaining({
        code: 'FailedMount',
        message:
          'the node has no room for 3145728 bytes of Secrets and other files of a pod in memory: pods with more than 2440322 share 134217728',
      }),
    );
    for (let pod = 0; pod < 110; pod++) memory.reserve(`small-${pod}`, 2 * MIB);
    expect((4 * 32 + 110 * 2) * MIB).toBeLessThan(memory.sizeBytes - 128 * MIB);
  });

  it('gives room back when a pod has less, or is gone', () => {
    const memory = new SecretMemory(2 ** 40);
    memory.reserve('a', 128 * MIB);
    memory.settle('a', 120 * MIB);
    memory.reserve('b', 8 * MIB);
    expect(() => memory.reserve('c', 8 * MIB)).toThrow('no room');
    memory.settle('b', 0);
    memory.reserve('c', 8 * MIB);
  });

  it('takes nothing from a pod that is refused', () => {
    const memory = new SecretMemory(2 ** 40);
    memory.reserve('a', 100 * MIB);
    memory.reserve('b', 20 * MIB);
    expect(() => memory.reserve('b', 40 * MIB)).toThrow('no room');
    memory.reserve('b', 20 * MIB);
    memory.reserve('b', 28 * MIB);
  });
});
