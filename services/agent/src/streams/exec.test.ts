import { create } from '@bufbuild/protobuf';
import { StreamStartSchema } from '@gantry/proto';
import { openChannels, openSpdy, upgrade } from '@gantry/streams/testing';
import { describe, expect, it } from 'vitest';
import { streamAgent, SUCCESS, V4, V5 } from './testing/stream-agent.ts';

const agent = streamAgent();
const { exec } = agent;
const INPUT = { stdin: true, stdout: true };
const OUTPUTS = { stdout: true, stderr: true };

/** Opens the streams of a command over SPDY, the error stream first, like kubectl. */
async function spdyCommand(path: Promise<string>, protocol: string, types: readonly string[]) {
  const client = await openSpdy(agent.target, await path, protocol);
  const ids: Record<string, number> = {};
  for (const streamType of ['error', ...types]) ids[streamType] = await client.open({ streamType });
  const id = (type: string): number => ids[type] ?? 0;
  return { client, id, text: (type: string) => client.text(id(type)) };
}

/** Waits until a number has not changed for many turns of the event loop. Each turn reads every socket that has data. */
async function untilStill(count: () => number): Promise<void> {
  for (let before = -1, still = 0; still < 300; still = before === count() ? still + 1 : 0) {
    before = count();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('exec over SPDY', () => {
  it('carries input and its end, output, and the outcome', async () => {
    const { client, id, text } = await spdyCommand(exec(['cat'], INPUT), V4, ['stdin', 'stdout']);
    client.send(id('stdin'), 'one ');
    client.send(id('stdin'), 'two', 'fin');
    await client.ended();
    expect([text('stdout'), text('error')]).toEqual(['one two', SUCCESS]);
  });

  it.each([
    [
      V4,
      expect.stringContaining('"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}'),
    ],
    ['v3.channel.k8s.io', 'command terminated with non-zero exit code: command terminated with exit code 7'],
    ['channel.k8s.io', 'command terminated with non-zero exit code: command terminated with exit code 7'],
  ])('reports the exit code as %s does', async (protocol, told) => {
    const { client, text } = await spdyCommand(exec(['exit', '7']), protocol, ['stdout']);
    await client.ended();
    expect(text('error')).toEqual(told);
  });

  it('carries more than any buffer unchanged, to a client that reads slowly', async () => {
    const { client, id } = await spdyCommand(exec(['cat'], INPUT), V4, ['stdin', 'stdout']);
    const all = Buffer.concat(Array.from({ length: 64 }, (_, at) => Buffer.alloc(100_000, 0x41 + (at % 26))));
    client.transport.pause();
    for (let at = 0; at < all.length; at += 50_000) client.send(id('stdin'), all.subarray(at, at + 50_000));
    client.send(id('stdin'), '', 'fin');
    await untilStill(() => client.transport.writableLength);
    client.transport.resume();
    await client.ended();
    expect(Buffer.concat(client.stream(id('stdout')).data).equals(all)).toBe(true);
  });

  it('waits for the streams that were asked for', async () => {
    const client = await openSpdy(agent.target, await exec(['both'], OUTPUTS), V4);
    const error = await client.open({ streamType: 'error' });
    const output = await client.open({ streamType: 'stdout' });
    await client.until(() => client.stream(output).state === 'open');
    const unwanted = await client.open({ streamType: 'stdin' });
    await client.until(() => typeof client.stream(unwanted).state === 'object');
    expect(client.text(output)).toBe('');
    const errors = await client.open({ streamType: 'stderr' });
    await client.ended();
    expect([client.text(output), client.text(errors), client.text(error)]).toEqual(['out', 'err', SUCCESS]);
  });

  it('kills the process when the client goes', async () => {
    const { client, id } = await spdyCommand(exec(['hang', 'left']), V4, ['stdout']);
    await client.until(() => client.text(id('stdout')) === 'on');
    client.transport.destroy();
    await expect.poll(() => agent.commands()).not.toContainEqual(['hang', 'left']);
  });
});

describe('exec over a WebSocket', () => {
  it.each([
    [V5, SUCCESS],
    [V4, SUCCESS],
    ['v4.base64.channel.k8s.io', SUCCESS],
    ['channel.k8s.io', ''],
    ['base64.channel.k8s.io', ''],
  ])('gives both outputs and the outcome in %s', async (protocol, outcome) => {
    const client = await openChannels(agent.target, await exec(['both'], OUTPUTS), protocol);
    expect(await client.closed).toBe(1000);
    expect(client.protocol).toBe(protocol);
    expect([client.text(1), client.text(2), client.text(3)]).toEqual(['out', 'err', outcome]);
  });

  it('does without a subprotocol', async () => {
    const client = await openChannels(agent.target, await exec(['both']));
    await client.closed;
    expect(client.text(1)).toBe('out');
  });

  it('ends the input of v5 by its signal, and output continues', async () => {
    const client = await openChannels(agent.target, await exec(['cat'], INPUT), 'v4.channel.k8s.io', V5);
    expect(client.protocol).toBe(V5);
    client.send(0, 'kept');
    client.send(255, Buffer.from([0]));
    client.send(0, 'too late');
    await client.closed;
    expect([client.text(1), client.text(3)]).toEqual(['kept', SUCCESS]);
  });

  it.each([V5, 'v4.base64.channel.k8s.io'])('carries chunks of all sizes unchanged in %s', async (protocol) => {
    const sizes = [1, 300_000, 2, 65_535, 131_072, 0, 70_000, 131_071, 3];
    const chunks = sizes.map((size, index) => Buffer.alloc(size, `${index}`));
    const client = await openChannels(agent.target, await exec(['cat'], INPUT), protocol);
    for (const chunk of chunks) client.send(0, chunk);
    const all = Buffer.concat(chunks).toString();
    while (client.text(1).length < all.length) await new Promise((resolve) => client.socket.once('message', resolve));
    expect(client.text(1) === all).toBe(true);
    client.socket.close();
    await client.closed;
  });

  it('drops what comes on channels that are not read', async () => {
    const client = await openChannels(agent.target, await exec(['cat'], INPUT), V5);
    for (const channel of [1, 3, 4, 9]) client.send(channel, 'noise');
    client.send(255, Buffer.from([1]));
    client.send(0, 'x');
    client.send(255, Buffer.from([0]));
    await client.closed;
    expect(client.text(1)).toBe('x');
  });

  it('cuts off a client whose signal is none', async () => {
    const client = await openChannels(agent.target, await exec(['hang', 'cut off']), V5);
    client.send(255, Buffer.from([0, 0]));
    expect(await client.closed).toBe(1002);
    await expect.poll(() => agent.commands()).not.toContainEqual(['hang', 'cut off']);
  });

  it('passes on sizes of the terminal, however they are cut', async () => {
    const client = await openChannels(agent.target, await exec(['sizes'], { ...INPUT, tty: true }), V5);
    client.send(4, '{"Width":80,"Hei');
    client.send(4, 'ght":24}\n{"Width":100,"Height":50}');
    await client.closed;
    expect(client.text(1)).toBe('80x24 100x50 ');
    expect(agent.notes.processes.at(-1)?.options).toMatchObject({ terminal: 'tty', stderr: false, stdout: true });
  });

  it('tells a failure after all output', async () => {
    const client = await openChannels(agent.target, await exec(['break']), V5);
    await client.closed;
    expect(client.text(1)).toBe('half');
    expect(JSON.parse(client.text(3))).toMatchObject({
      reason: 'InternalError',
      code: 500,
      message: expect.stringMatching(
        /^Internal error occurred: error executing command in container: .*the engine is gone/,
      ),
    });
  });

  it('holds the client back while the process does not read', async () => {
    const client = await openChannels(agent.target, await exec(['hang'], INPUT), V5);
    const megabyte = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < 48; sent++) client.send(0, megabyte);
    await untilStill(() => client.socket.bufferedAmount);
    expect(client.socket.bufferedAmount).toBeGreaterThan(16 * megabyte.length);
    client.socket.terminate();
  });

  it('holds the process back while the client does not read, and kills it when the client goes', async () => {
    const client = await openChannels(agent.target, await exec(['flood']), V5);
    client.socket.pause();
    await untilStill(() => agent.notes.flooded);
    expect(agent.notes.flooded).toBeLessThan(32 * 1024 * 1024);
    client.socket.terminate();
  });
});

describe('attach', () => {
  it('gives what the process prints, and ends well when it does', async () => {
    const value = { container: 'main', stdout: true };
    const path = await agent.accept(create(StreamStartSchema, { target: { case: 'attach', value } }).target);
    const client = await openChannels(agent.target, path, V5);
    await client.closed;
    expect([client.text(1), client.text(3)]).toEqual(['from the first process', SUCCESS]);
    expect(agent.notes.processes.at(-1)?.command).toBeUndefined();
  });
});

describe('a stream', () => {
  const SPDY = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': V4 };
  const HANDSHAKE = {
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
  };

  it.each([
    ['without a subprotocol', { upgrade: 'SPDY/3.1' }, 400, 'header X-Stream-Protocol-Version does not exist'],
    [
      'with unknown subprotocols',
      { ...SPDY, 'x-stream-protocol-version': 'v9' },
      403,
      'unable to upgrade: unable to negotiate protocol: client supports [v9], server accepts [v4.channel.k8s.io',
    ],
    ['with another protocol', { ...SPDY, upgrade: 'echo' }, 400, 'missing upgrade headers'],
    ['with a WebSocket handshake that is none', { upgrade: 'websocket' }, 400, 'the WebSocket handshake is invalid'],
  ])('%s is refused with a text', async (_, headers, code, told) => {
    const refused = await upgrade(agent.target, 'POST', await exec(['cat']), headers);
    expect(refused).toMatchObject({ code, text: expect.stringContaining(told) });
  });

  it('tells clients of SPDY which protocols there are', async () => {
    const headers = { ...SPDY, 'x-stream-protocol-version': 'v9' };
    const refused = await upgrade(agent.target, 'POST', await exec(['cat']), headers);
    expect(refused.headers['x-accepted-stream-protocol-versions']).toContain(V4);
  });

  it('is served once for a ticket, and to API servers alone', async () => {
    const path = await exec(['cat']);
    const { ca, port, servername } = agent.target;
    const others = await upgrade({ ca, port, servername: servername ?? '' }, 'GET', path, HANDSHAKE);
    expect(others).toMatchObject({ code: 200, text: 'an endpoint' });
    await (await openChannels(agent.target, path, V5)).closed;
    expect(await upgrade(agent.target, 'GET', path, HANDSHAKE)).toMatchObject({
      code: 404,
      text: expect.stringContaining('the ticket of the stream is not known'),
    });
  });

  it('ends with the call of its API server: the client is told, and the process is killed', async () => {
    const call = new AbortController();
    const value = { container: 'main', command: ['hang', 'ended'], stdout: true };
    const { target } = create(StreamStartSchema, { target: { case: 'exec', value } });
    const client = await openChannels(agent.target, await agent.accept(target, { signal: call.signal }), V5);
    await expect.poll(() => client.text(1)).toBe('on');
    call.abort(new Error('the client has gone'));
    expect(await client.closed).toBe(1000);
    expect(client.text(3)).toContain('the API server has ended the stream');
    await expect.poll(() => agent.commands()).not.toContainEqual(['hang', 'ended']);
  });

  it('does not end the input of a command where its client breaks off', async () => {
    const client = await openChannels(agent.target, await exec(['cat', 'broken off'], INPUT), V5);
    client.send(0, 'half');
    await expect.poll(() => client.text(1)).toBe('half');
    client.socket.terminate();
    await expect.poll(() => agent.commands()).not.toContainEqual(['cat', 'broken off']);
    expect(agent.notes.ended).not.toContainEqual(['cat', 'broken off']);
  });
});
