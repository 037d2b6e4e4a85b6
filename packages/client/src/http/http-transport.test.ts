import { once } from 'node:events';
import { Agent } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import { expect, it, onTestFinished } from 'vitest';
import { HttpTransport } from './http-transport.ts';

it('waits for credentials no longer than the request may take', async () => {
  const clock = new ManualClock();
  const dial = () => new Promise<never>(() => undefined);
  using transport = new HttpTransport({ server: 'https://127.0.0.1:1', dial }, 'test', clock);
  const request = { method: 'GET', path: '/' } as const;

  const stop = new AbortController();
  const aborted = transport.text(request, stop.signal);
  stop.abort(new TypeError('stopped'));
  await expect(aborted).rejects.toThrow('stopped');

  const late = transport.text(request, new AbortController().signal, { deadlineMs: 500 });
  const failed = expect(late).rejects.toMatchObject({ name: 'ConnectionError', sent: 'no' });
  await clock.advance(500);
  await failed;
});

it('fails when the server switches the protocol', async () => {
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dial = () => Promise.resolve({ agent: new Agent() });
  using transport = new HttpTransport({ server: `http://127.0.0.1:${port}`, dial }, 'test', new ManualClock());
  const answer = transport.text({ method: 'GET', path: '/' }, new AbortController().signal);
  await expect(answer).rejects.toMatchObject({ name: 'ConnectionError', sent: 'perhaps' });
});
