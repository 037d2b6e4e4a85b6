import { describe, expect, it } from 'vitest';
import { StatusError } from '@gantry/objects';
import { CHANNEL, endOf, messageFor, outputTo, refusalOf, senderTo, wordsOf } from './exec-channels.ts';

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

describe('senderTo', () => {
  const { CONNECTING, OPEN, CLOSING } = WebSocket;
  const text = (message: Uint8Array) => `${message[0]} ${new TextDecoder().decode(message.subarray(1))}`;
  const open = () => {
    const sent: string[] = [];
    const socket = {
      readyState: CONNECTING as number,
      send: (message: unknown) => void sent.push(text(message as Uint8Array)),
    };
    return { socket, sent, ...senderTo(socket as Pick<WebSocket, 'readyState' | 'send'>) };
  };

  it('keeps what is typed before the connection is there, in its order, and sends it once', () => {
    const { socket, sent, send, flush } = open();
    send(CHANNEL.stdin, 'l');
    send(CHANNEL.stdin, 's');
    expect(sent).toEqual([]);
    socket.readyState = OPEN;
    send(CHANNEL.resize, '{}');
    flush();
    flush();
    send(CHANNEL.stdin, '!');
    expect(sent).toEqual(['4 {}', '0 l', '0 s', '0 !']);
  });

  it('keeps no more than a person types, and nothing for a connection that has ended', () => {
    const { socket, sent, send, flush } = open();
    for (let key = 0; key < 1500; key++) send(CHANNEL.stdin, 'x');
    flush();
    expect(sent).toHaveLength(1000);
    socket.readyState = CLOSING;
    send(CHANNEL.stdin, 'late');
    flush();
    expect(sent).toHaveLength(1000);
  });
});
