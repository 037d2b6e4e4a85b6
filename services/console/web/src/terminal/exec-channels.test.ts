import { describe, expect, it } from 'vitest';
import { CHANNEL, endOf, messageFor, wordsOf } from './exec-channels.ts';

describe('exec channels', () => {
  it('begin messages with the channel', () => {
    expect([...messageFor(CHANNEL.stdin, 'a')]).toEqual([0, 97]);
    expect([...messageFor(CHANNEL.close, new Uint8Array([CHANNEL.stdin]))]).toEqual([255, 0]);
  });

  it('say how a command ended', () => {
    expect(endOf('{"status":"Success"}')).toBe('the command has ended');
    const causes = [{ reason: 'ExitCode', message: '137' }];
    expect(endOf(JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes } }))).toBe(
      'the command has ended with 137',
    );
    expect(endOf('{"status":"Failure","message":"no such container"}')).toBe('no such container');
    expect(endOf('broken')).toBe('broken');
  });

  it('split a command line into words', () => {
    expect(wordsOf(`sh -c 'echo "a b"' "c \\"d" e\\ f`)).toEqual(['sh', '-c', 'echo "a b"', 'c "d', 'e f']);
    expect(wordsOf('  ')).toEqual([]);
  });
});
