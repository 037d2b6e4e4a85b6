import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { NODES } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { connectDocker } from './docker/docker-runtime.ts';
import { HostShares } from './node/host-shares.ts';
import { PLAIN_REGISTRATION } from './node/registration.ts';
import { NodeStatusManager, ImageList } from './node/node-status-manager.ts';
import { ENGINE } from './testing/pods.ts';

const silent = () => undefined;

it('a Node whose engine hangs becomes NotReady, with the reason, and Ready again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'engine-'));
  let mode: 'answers' | 'hangs' = 'answers';
  const sockets = new Set<Socket>();
  let hanging = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', () => {
      if (mode === 'answers') socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]');
      else hanging.resolve();
    });
  });
  server.listen(join(folder, 'engine.sock'));
  await once(server, 'listening');
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  const clock = new ManualClock();
  const api = new FakeObjectClient(clock);
  const { engine } = connectDocker(join(folder, 'engine.sock'), () => 'full', clock, silent);
  const ids = { machine: 'm', boot: 'b', system: 's' };
  const observation = {
    name: 'n',
    engineName: 'e',
    address: '10.0.0.1',
    gatewayAddress: undefined,
    hostAddress: '',
    forwardedFrom: '',
    engine: ENGINE,
    registration: PLAIN_REGISTRATION,
    ids,
  };
  const nothing = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };
  const shares = new HostShares({ cpus: 1, memoryBytes: 1, storageBytes: 1 }, nothing, 1);
  const images = new ImageList({ listImages: async () => [] }, clock, silentLogger);
  const options = { client: api, engine, shares, images, clock, logger: silentLogger };
  const manager = new NodeStatusManager({
    pressures: () => [],
    view: { observe: () => undefined },
    ...options,
    observation: { ...observation, privilege: 'full' },
  });
  const ready = () => api.all(NODES)[0]?.status?.conditions?.find(({ type }) => type === 'Ready');
  const becomes = async (status: string) => {
    while (ready()?.status !== status) await new Promise((resolve) => setImmediate(resolve));
  };

  await manager.register(stop.signal);
  expect(ready()?.status).toBe('True');
  const running = manager.run(stop.signal);
  mode = 'hangs';
  manager.checkNow();
  await hanging.promise;
  await clock.advance(15_000);
  await becomes('False');
  expect(ready()).toMatchObject({
    reason: 'KubeletNotReady',
    message: 'container runtime is down: the engine has not answered within 15 s',
  });

  hanging = Promise.withResolvers<void>();
  mode = 'answers';
  manager.checkNow();
  await becomes('True');
  stop.abort();
  await running;
});
