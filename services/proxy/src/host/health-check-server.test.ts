import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort, ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { HealthCheck } from '../rules/health-checks.ts';
import { HealthCheckServer } from './health-check-server.ts';

async function takePort() {
  const port = await freePort('0.0.0.0');
  const server = createServer().listen(port, '0.0.0.0');
  await once(server, 'listening');
  return { port, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** Long enough for sockets on a busy machine. */
const WAIT = { timeout: 30_000 };

test('a port that others have is served when they leave it, answers by what is known last, and is closed when it is not wanted', async () => {
  const taken = await takePort();
  const clock = new ManualClock();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let isHealthy = true;
  const server = new HealthCheckServer({
    podCidr: '10.128.0.0/20',
    isHealthy: () => isHealthy,
    clock,
    logger: silentLogger,
  });
  void server.run(stop.signal);
  const check = (onHost: number): HealthCheck => ({ port: taken.port, namespace: 'n', name: 's', onHost, onNodes: {} });
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${taken.port}/`);
    return `${response.status} ${JSON.stringify(await response.json())}`;
  };
  server.keep([check(2)]);
  await taken.close();
  const answer = '{"service":{"namespace":"n","name":"s"},"localEndpoints":2,"serviceProxyHealthy":true}';
  await vi.waitFor(async () => {
    await clock.advance(10_000);
    expect(await ask()).toBe(`200 ${answer}`);
  }, WAIT);
  server.keep([check(0)]);
  expect(await ask()).toMatch(/^503 .*"localEndpoints":0/);
  server.keep([check(1)]);
  isHealthy = false;
  expect(await ask()).toMatch(/^503 .*"serviceProxyHealthy":false/);
  server.keep([]);
  await vi.waitFor(async () => expect(await ask().catch(() => 'closed')).toBe('closed'), WAIT);
});
