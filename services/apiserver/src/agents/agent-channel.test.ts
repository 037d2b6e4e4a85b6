import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createPlainServer } from 'node:net';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { AgentService, type StreamInput, StreamInputSchema, type StreamOutput } from '@gantry/proto';
import { fixedTls } from '@gantry/tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createTestPki } from '../testing/test-pki.ts';
import { AgentCall } from './agent-call.ts';
import { openAgentChannel } from './agent-channel.ts';

const pki = await createTestPki(systemClock.now());
const served = await pki.issue('system:node:node-a', ['system:nodes'], ['node-a']);
const tls = fixedTls(await pki.issue('system:apiserver', ['gantry:apiservers']));

/** Frames of HTTP/2 (RFC 9113) that allow a client to send as much as it likes. */
const SETTINGS = Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff]);
const WINDOW_UPDATE = Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0]);

const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one[Symbol.dispose]();
});

/** A server whose connections do nothing by themselves; its port. */
async function silent(
  kind: 'plain' | 'tls',
  onConnection: (socket: Socket) => void = () => undefined,
): Promise<number> {
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    socket.on('error', () => undefined);
    sockets.add(socket);
    onConnection(socket);
  };
  const server =
    kind === 'plain' ? createPlainServer(accept) : createServer({ ...served, ALPNProtocols: ['h2'] }, accept);
  open.push({
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

const connectTo = (port: number, clock = new ManualClock(), node = 'node-a') =>
  openAgentChannel(tls, { node, host: '127.0.0.1' }, port, clock);

describe('a connection to an agent', () => {
  it.each([
    ['says nothing', 'plain', 5000],
    ['closes the connection', 'plain', 0],
  ] as const)('fails when the other side %s', async (_what, kind, passesMs) => {
    const clock = new ManualClock();
    const connected = Promise.withResolvers<Socket>();
    const port = await silent(kind, connected.resolve);
    const refused = expect(connectTo(port, clock)).rejects.toMatchObject({
      reason: 'ServiceUnavailable',
      message: expect.stringContaining('the agent of node "node-a" cannot be reached'),
    });
    const socket = await connected.promise;
    if (passesMs > 0) await clock.advance(passesMs);
    else socket.destroy();
    await refused;
  });

  it('fails when nothing listens, and when another node answers', async () => {
    const port = await silent('tls');
    await expect(connectTo(port, new ManualClock(), 'node-b')).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    await expect(connectTo(1)).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
  });

  it.each(['no address', '[::1', 'fe80::1%none', '127.0.0.1/x'])('fails for the address %j', async (host) => {
    const clock = new ManualClock();
    const opened = openAgentChannel(tls, { node: 'node-a', host }, 1, clock);
    const refused = expect(opened).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    await clock.advance(5000);
    await refused;
  });

  it('stays while the agent answers', async () => {
    const clock = new ManualClock();
    const agent = createSecureServer({ ...served });
    open.push({ [Symbol.dispose]: () => agent.close() });
    await once(agent.listen(0, '127.0.0.1'), 'listening');
    using channel = await connectTo((agent.address() as AddressInfo).port, clock);
    const call = channel.begin('/x');
    call.on('error', () => undefined);
    for (let passed = 0; passed < 5; passed++) {
      await expect.poll(() => clock.nextTimerMs()).toBeGreaterThan(5000);
      await clock.advance(10_000);
    }
    expect([channel.isOpen, call.destroyed]).toEqual([true, false]);
    call.close();
  });

  it('is cut some time after its end, when the agent does not read', async () => {
    const clock = new ManualClock();
    const port = await silent('tls', (socket) => {
      socket.write(Buffer.concat([SETTINGS, WINDOW_UPDATE]));
      socket.pause();
    });
    const channel = await connectTo(port, clock);
    const stop = new AbortController();
    const stream = channel.begin('/x');
    const call = new AgentCall<StreamInput, StreamOutput>(stream, AgentService.method.exec, stop.signal);
    const value = Buffer.alloc(1024 * 1024);
    // More than sockets hold.
    const sent = Array.from({ length: 32 }, () =>
      call.send(create(StreamInputSchema, { part: { case: 'stdin', value } })),
    );
    const next = call.next();
    let gone = 0;
    for (const one of sent) void one.then(() => gone++);
    for (let before = -1, still = 0; still < 300; still = before === gone ? still + 1 : 0) {
      before = gone;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(gone).toBeLessThan(sent.length);
    stop.abort();
    await expect(next).rejects.toMatchObject({ details: 'the call was cancelled' });
    await expect.poll(() => gone).toBe(sent.length);
    channel[Symbol.dispose]();
    expect(channel.isOpen).toBe(false);
    await clock.advance(60_000);
    await expect.poll(() => stream.session?.destroyed ?? true).toBe(true);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('ends with its calls when the agent no longer answers', async () => {
    const clock = new ManualClock();
    using channel = await connectTo(await silent('tls'), clock);
    const call = channel.begin('/x');
    call.on('error', () => undefined);
    await clock.advance(10_000);
    await clock.advance(4_999);
    expect(call.destroyed).toBe(false);
    await clock.advance(1);
    await expect.poll(() => call.destroyed).toBe(true);
  });
});
