import { describe, expect, it } from 'vitest';
import { cachesListed, createHealth } from './health.ts';

describe('health', () => {
  it('reports failed checks by name, and is not ready when not live', async () => {
    const fail = (text: string) => () => {
      throw new RangeError(text);
    };
    const health = createHealth({
      live: [{ name: 'loop', check: fail('stuck') }],
      ready: [
        { name: 'cache', check: async () => undefined },
        { name: 'store', check: fail('gone') },
      ],
    });
    expect(await health.live()).toEqual(['loop: stuck']);
    expect(await health.ready()).toEqual(['loop: stuck', 'store: gone']);
  });

  it('is not ready before every cache was listed', async () => {
    let missing: readonly string[] = ['pods', 'nodes'];
    const health = createHealth({ ready: [cachesListed(() => missing)] });
    expect(await health.ready()).toEqual(['caches: not listed yet: pods, nodes']);
    missing = [];
    expect(await health.ready()).toEqual([]);
  });
});
