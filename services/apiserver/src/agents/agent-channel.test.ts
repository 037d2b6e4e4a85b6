import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createPlainServer } from 'node:net';
import { createServer } from 'node:tls';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { fixedTls } from '@gantry/tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createTestPki } from '../testing/test-pki.ts';
import { openAgentChannel } from './agent-channel.ts';

const pki = await createTestPki(systemClock.now());
const served = await pki.issue('system:node:node-a', ['system:nodes'], ['node-a']);
const tls = fixedTls(await pki.issue('system:apiserver', ['gantry:apiservers']));

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

  it('ends with its calls when the agent no longer answers', async () => {
    const clock = new ManualClock();
    using channel = await connectTo(await silent('tls'), clock);
    const call = channel.begin('/x');
    call.on('error', () => undefined);
    const closed = new Promise((resolve) => call.once('close', resolve));
    await clock.advance(10_000);
    await clock.advance(4_999);
    expect(call.destroyed).toBe(false);
    await clock.advance(1);
    await closed;
  });
});
