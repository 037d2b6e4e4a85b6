import { describe, expect, it } from 'vitest';
import { ManualClock } from './testing/index.ts';
import { untilDone } from './until-done.ts';

class BrokenError extends Error {}

/** Work that fails for each of these reasons, and then succeeds. */
function start(...failures: readonly string[]) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const reasons: string[] = [];
  let attempts = 0;
  const work = async () => {
    const reason = failures[attempts++];
    if (reason !== undefined) throw new BrokenError(reason);
    return `attempt ${attempts}`;
  };
  const options = { clock, everyMs: 500, onReason: (reason: string) => void reasons.push(reason) };
  const result = untilDone(options, work, stop.signal);
  return { clock, stop, reasons, result, attempts: () => attempts };
}

describe('work that is tried until it is done', () => {
  it('is tried at intervals, and each new reason is reported once', async () => {
    const { clock, reasons, result, attempts } = start('a', 'a', 'b', 'a');
    await clock.advance(1999);
    expect(attempts()).toBe(4);
    await clock.advance(1);
    expect(await result).toBe('attempt 5');
    expect(reasons).toEqual(['a', 'b', 'a']);
  });

  it('ends when it is aborted, without a report of what the abort broke', async () => {
    const waiting = start('a', 'b');
    await waiting.clock.advance(10);
    waiting.stop.abort(new BrokenError('stopped'));
    await expect(waiting.result).rejects.toThrow('stopped');
    expect(waiting.clock.nextTimerMs()).toBeUndefined();
    const working = start('a');
    working.stop.abort(new BrokenError('stopped'));
    await expect(working.result).rejects.toThrow('stopped');
    expect(working.reasons).toEqual([]);
  });
});
