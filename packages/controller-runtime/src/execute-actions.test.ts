import { describe, expect, it } from 'vitest';
import { executeActions } from './execute-actions.ts';

const { signal } = new AbortController();

describe('executing actions', () => {
  it('starts slowly and stops at the first refusal', async () => {
    const tried: number[] = [];
    const work = executeActions(
      Array.from({ length: 100 }, (_, i) => i),
      async (action) => {
        tried.push(action);
        if (action === 2) throw new RangeError('no');
      },
      {},
      signal,
    );
    await expect(work).rejects.toThrow('no');
    expect(tried).toEqual([0, 1, 2]);
  });

  it('tries all at full pace, within its bound, and fails at the end', async () => {
    let running = 0;
    let most = 0;
    let tried = 0;
    const work = executeActions(
      Array.from({ length: 50 }, (_, i) => i),
      async (action) => {
        running += 1;
        most = Math.max(most, running);
        await Promise.resolve();
        running -= 1;
        tried += 1;
        if (action === 0) throw new RangeError('no');
      },
      { pace: 'full', parallel: 8 },
      signal,
    );
    await expect(work).rejects.toThrow('no');
    expect(tried).toBe(50);
    expect(most).toBe(8);
  });
});
