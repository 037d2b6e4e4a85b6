import { describe, expect, it } from 'vitest';
import { StatusError } from '@gantry/objects';
import { CHANNEL, endOf, messageFor, outputTo, refusalOf, wordsOf } from './exec-channels.ts';

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

describe('a refused stream', () => {
  const refusal = (error?: Error) =>
    refusalOf(
      { fetch: async () => (error === undefined ? new Response() : await Promise.reject(error)) },
      '/exec',
      1006,
    );

  it('is explained in the words of the server', async () => {
    expect(await refusal(new StatusError('Forbidden', 'pods "web" is forbidden: it is privileged'))).toBe(
      'pods "web" is forbidden: it is privileged',
    );
  });

  it('is not explained by the server when it would accept it', async () => {
    for (const error of [StatusError.badRequest('Upgrade request required'), new TypeError('network'), undefined])
      expect(await refusal(error)).toContain('(1006)');
  });
});

describe('outputTo', () => {
  const MIB = new Uint8Array(1024 * 1024);

  it('leaves out what comes faster than it is shown, and says how much', () => {
    const written: (Uint8Array | string)[] = [];
    const done: (() => void)[] = [];
    const show = outputTo({
      write: (content, end) => {
        written.push(content);
        if (end !== undefined) done.push(end);
      },
    });
    for (let i = 0; i < 100; i++) show(MIB);
    expect(written).toHaveLength(4);
    for (const end of done.splice(0)) end();
    show(new Uint8Array([97]));
    expect(written.slice(4)).toEqual([
      `\u0018\r\n[${96 * MIB.length} bytes of output were left out]\r\n`,
      new Uint8Array([97]),
    ]);
    show(new Uint8Array([98]));
    expect(written.at(-1)).toEqual(new Uint8Array([98]));
  });
});
