import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { whenGreeted } from './when-greeted.ts';

describe('a new connection', () => {
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
  });
  afterEach(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });

  const greet = (limitMs?: number) => whenGreeted(socket, () => void greeted++, limitMs);

  it('is served when its client has sent something, which is still there to be read, and has no limit from then on', async () => {
    greet();
    client.write('hello');
    await once(socket, 'readable');
    expect(greeted).toBe(1);
    expect(String(socket.read())).toBe('hello');
    expect(socket.timeout).toBe(0);
    expect(socket.listenerCount('timeout')).toBe(0);
  });

  it('is closed when its client sends nothing for the time that it has', async () => {
    greet(20);
    await once(socket, 'close');
    expect(greeted).toBe(0);
  });

  it('has ten seconds', () => {
    greet();
    expect(socket.timeout).toBe(10_000);
  });

  it('is closed when its client leaves without a word', async () => {
    greet();
    client.end();
    await once(socket, 'close');
    expect(greeted).toBe(0);
  });
});
