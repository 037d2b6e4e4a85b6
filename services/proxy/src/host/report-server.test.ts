import { once } from 'node:events';
import { createServer } from 'node:net';
import { Activities } from '@gantry/base';
import { freePort, ManualClock } from '@gantry/base/testing';
import { type Logger, silentLogger } from '@gantry/service';
import { expect, test } from 'vitest';
import { reportServer } from './report-server.ts';

/** The first address of this range is 127.0.0.1. */
const LOOPBACK = '127.0.0.0/24';

test('the report is served once the address is free, and a stop ends it', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const warned = Promise.withResolvers<unknown>();
  const listening = Promise.withResolvers<number>();
  const logger = { ...silentLogger, warn: warned.resolve } as unknown as Logger;
  const clock = new ManualClock();
  const stop = new AbortController();
  const member = reportServer({
    podCidr: LOOPBACK,
    parts: {},
    port,
    tls: 'insecure',
    activities: new Activities(clock),
    clock,
    logger,
    onListening: listening.resolve,
  });
  const done = member.run(stop.signal);
  expect(await warned.promise).toMatchObject({
    address: `127.0.0.1:${port}`,
    reason: expect.stringContaining('EADDRINUSE'),
  });
  other.close();
  await once(other, 'close');
  await clock.advance(1000);
  expect(await listening.promise).toBe(port);
  stop.abort();
  await done;
  // The port is free again.
  const next = createServer().listen(port, '127.0.0.1');
  await once(next, 'listening');
  next.close();
});
