import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { whenGreeted } from './when-greeted.ts';

describe('a new connection', () => {
  const clock = new ManualClock();
  let server: Server;
  let client: Socket;
  let socket: Socket;
  let greeted: number;

  beforeEach(async () => {
    greeted = 0;
    server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    [socket] = (await once(server, 'connection')) as [Socket];
    whenGreeted(socket, clock, () => void greeted++);
  });
  afterEach(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });

  it('is served when its client has sent something, which is still there to be read', async () => {
    client.write('hello');
    await once(socket, 'readable');
    expect(greeted).toBe(1);
    expect(String(socket.read())).toBe('hello');
    await clock.advance(20_000);
    expect(socket.destroyed).toBe(false);
  });

  it('is closed when its client sends nothing for ten seconds', async () => {
    await clock.advance(9_000);
    expect(socket.destroyed).toBe(false);
    await clock.advance(1_500);
    expect(socket.destroyed).toBe(true);
    expect(greeted).toBe(0);
  });

  it('is closed when its client leaves without a word', async () => {
    client.end();
    await once(socket, 'close');
    expect(greeted).toBe(0);
  });
});
