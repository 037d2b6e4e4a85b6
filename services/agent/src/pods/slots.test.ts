import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

describe('slots', () => {
  it('let as many pieces of work run as there are, the others in order', async () => {
    const slots = new Slots(1);
    const { signal } = new AbortController();
    const begun: string[] = [];
    const first = Promise.withResolvers<void>();
    const all = Promise.all([
      slots.use(() => (begun.push('a'), first.promise), signal),
      slots.use(async () => void begun.push('b'), signal),
      slots.use(async () => void begun.push('c'), signal),
    ]);
    expect(begun).toEqual(['a']);
    first.resolve();
    await all;
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('do not begin what was aborted while it waited, and pass its turn on', async () => {
    const slots = new Slots(1);
    const abort = new AbortController();
    const { signal } = new AbortController();
    const first = Promise.withResolvers<void>();
    const begun: string[] = [];
    const running = slots.use(() => first.promise, signal);
    const aborted = slots.use(async () => void begun.push('aborted'), abort.signal);
    const next = slots.use(async () => void begun.push('next'), signal);
    abort.abort('pod deleted');
    first.resolve();
    await expect(aborted).rejects.toBe('pod deleted');
    await Promise.all([running, next]);
    expect(begun).toEqual(['next']);
  });
});
