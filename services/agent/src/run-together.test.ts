import { describe, expect, it } from 'vitest';
import { runTogether } from './run-together.ts';

/** Returns a part that runs until it is aborted, and then notes its name. */
function untilAborted(name: string, ended: string[]) {
  return (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        ended.push(name);
        resolve();
      });
    });
}

describe('runTogether', () => {
  it('aborts the other parts when one fails, and rejects with its error', async () => {
    const ended: string[] = [];
    const failing = () => Promise.reject(new TypeError('broken'));
    const { signal } = new AbortController();
    await expect(runTogether([untilAborted('a', ended), failing, untilAborted('b', ended)], signal)).rejects.toThrow(
      'broken',
    );
    expect(ended).toEqual(['a', 'b']);
  });

  it('resolves when it is aborted itself', async () => {
    const ended: string[] = [];
    const stop = new AbortController();
    const running = runTogether([untilAborted('a', ended)], stop.signal);
    stop.abort();
    await running;
    expect(ended).toEqual(['a']);
  });
});
