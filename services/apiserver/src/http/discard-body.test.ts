import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { discardBody } from './discard-body.ts';

describe('a body that is not read', () => {
  const clock = new ManualClock();
  const server = createServer((req, res) => {
    discardBody(req, clock);
    res.end('refused');
  });
  let client: Socket;
  let received: string;

  beforeEach(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    received = '';
    client.on('data', (part: Buffer) => (received += part.toString()));
    // A connection that the server closes while the client sends may be reset.
    client.on('error', () => undefined);
  });
  afterEach(async () => {
    client.destroy();
    server.close();
    await once(server, 'close');
  });

  const responses = () => received.split('HTTP/1.1 200').length - 1;
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await once(client, 'data');
  };
  const announce = (bytes: number) => client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);

  it('is discarded, and the connection serves the next request', async () => {
    announce(1000);
    await until(() => responses() === 1);
    client.write('x'.repeat(1000));
    announce(0);
    await until(() => responses() === 2);
    expect(client.closed).toBe(false);
  });

  it('ends its connection when it does not come', async () => {
    announce(1000);
    await until(() => responses() === 1);
    const closed = once(client, 'close');
    await clock.advance(5000);
    await closed;
    expect(responses()).toBe(1);
  });

  it('ends its connection when it is too long', async () => {
    announce(100_000_000);
    await until(() => responses() === 1);
    // A reset causes an error event and a close event.
    const closed = new Promise((resolve) => client.once('close', resolve));
    const part = Buffer.alloc(64 * 1024);
    const send = (): void => {
      while (client.writable && client.write(part));
      client.once('drain', send);
    };
    send();
    await closed;
    expect(client.bytesWritten).toBeLessThan(100_000_000);
  });
});
