import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { ManualClock } from '@gantry/base/testing';
import Docker from 'dockerode';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { plainContainer, plainImageVolume, plainSandbox } from '../runtime/testing/plain-specs.ts';
import { connectDocker, type DockerRuntime } from './docker-runtime.ts';
import { EngineCalls } from './engine-calls.ts';

const silent = () => undefined;

const OWNER = { cluster: 'c', node: 'n' };
const POD = { uid: 'u', namespace: 'd', name: 'p' };
const STREAMS = { stdout: true, stderr: true, terminal: 'none' } as const;
const FORWARDER = {
  ...{ cluster: 'c', namespace: 'd', name: 's', uid: 'u', hash: 'h', image: 'i', network: 'n' },
  ...{ target: '10.128.10.0', ports: [], closedRange: '10.128.4.0-10.128.9.255' },
};
const GROUPED = { owner: OWNER, uid: 'u' };
const LOG = { follow: false, timestamps: false };

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _chunk of chunks);
}

/** All methods of the runtime. The compiler reports a missing one. */
const CALLS: { readonly [Part in keyof DockerRuntime]: { readonly [Name in keyof DockerRuntime[Part]]: Method } } = {
  sandboxes: {
    createSandbox: (runtime, signal) =>
      runtime.sandboxes.createSandbox(plainSandbox({ owner: OWNER, pod: POD, image: 'i' }), signal),
    stopSandbox: (runtime, signal) => runtime.sandboxes.stopSandbox('id', signal),
    removeSandbox: (runtime, signal) => runtime.sandboxes.removeSandbox('id', signal),
  },
  containers: {
    createContainer: (runtime, signal) =>
      runtime.containers.createContainer(
        plainContainer({ owner: OWNER, pod: POD, sandboxId: 's', image: 'i' }),
        signal,
      ),
    startContainer: (runtime, signal) => runtime.containers.startContainer('id', signal),
    stopContainer: (runtime, signal) => runtime.containers.stopContainer('id', 30, signal),
    updateContainer: (runtime, signal) => runtime.containers.updateContainer('id', {}, signal),
    removeContainer: (runtime, signal) => runtime.containers.removeContainer('id', signal),
    exec: (runtime, signal) => runtime.containers.exec('id', ['true'], signal),
  },
  // These ask only the kernel.
  podGroups: {
    updatePodGroup: (runtime, signal) =>
      runtime.podGroups.updatePodGroup(GROUPED, {}).catch(() => runtime.engine.info(signal)),
    readPodMemory: async (runtime, signal) => {
      if ((await runtime.podGroups.readPodMemory(GROUPED)) === undefined) await runtime.engine.info(signal);
    },
    removePodGroup: async (runtime, signal) => {
      if (await runtime.podGroups.removePodGroup(GROUPED)) await runtime.engine.info(signal);
    },
    listPodGroups: async (runtime, signal) => {
      if ((await runtime.podGroups.listPodGroups(OWNER)).length === 0) await runtime.engine.info(signal);
    },
  },
  pauses: { unpause: (runtime, signal) => runtime.pauses.unpause('id', signal) },
  images: {
    inspectImage: (runtime, signal) => runtime.images.inspectImage('i', signal),
    pullImage: (runtime, signal) => runtime.images.pullImage('i', 'anonymous', signal),
    listImages: (runtime, signal) => runtime.images.listImages(signal),
    usedImages: (runtime, signal) => runtime.images.usedImages(signal),
    removeImage: (runtime, signal) => runtime.images.removeImage('i', signal),
  },
  imageVolumes: {
    mountImage: (runtime, signal) =>
      runtime.imageVolumes.mountImage(plainImageVolume({ owner: OWNER, pod: POD }), signal),
  },
  imageFiles: {
    readImageFiles: (runtime, signal) => {
      const image = { id: 'i', labels: [] };
      const read = { container: 'main', image, paths: ['/etc/passwd'], maxBytes: 1, graceSeconds: 0 };
      return runtime.imageFiles.readImageFiles({ owner: OWNER, pod: POD, ...read }, signal);
    },
  },
  observer: {
    listPods: (runtime, signal) => runtime.observer.listPods({ cluster: 'c' }, signal),
    watch: (runtime, signal) => drain(runtime.observer.watch('c', signal)),
  },
  logs: { readLogs: (runtime, signal) => drain(runtime.logs.readLogs('id', LOG, signal)) },
  streams: {
    execStream: (runtime, signal) => drain(runtime.streams.execStream('id', ['true'], STREAMS, signal)),
    attach: (runtime, signal) => drain(runtime.streams.attach('id', STREAMS, signal)),
    connect: (runtime, signal) => runtime.streams.connect('id', 80, signal),
    killLeftovers: (runtime, signal) => runtime.streams.killLeftovers('id', signal),
  },
  stats: {
    readStats: (runtime, signal) => runtime.stats.readStats(['a'.repeat(64)], signal),
    findFolders: (runtime, signal) => runtime.stats.findFolders(['a'.repeat(64)], signal),
    readStorage: (runtime, signal) => runtime.stats.readStorage(['a'.repeat(64)], signal),
    // These ask only the kernel.
    readDeviceIo: async (runtime, signal) => {
      if ((await runtime.stats.readDeviceIo(['a'.repeat(64)], signal)).size === 0) await runtime.engine.info(signal);
    },
    readNetworks: async (runtime, signal) => {
      if ((await runtime.stats.readNetworks(['a'.repeat(64)], signal)).size === 0) await runtime.engine.info(signal);
    },
  },
  engine: {
    info: (runtime, signal) => runtime.engine.info(signal),
    ping: (runtime, signal) => runtime.engine.ping(signal),
    probe: (runtime, signal) => runtime.engine.probe('i', OWNER, signal),
  },
  agents: {
    // Outside of the engine's containers, this asks the engine nothing.
    describeSelf: async (runtime, signal) => {
      if ((await runtime.agents.describeSelf(signal)) === undefined) await runtime.engine.info(signal);
    },
    listNumbers: (runtime, signal) => runtime.agents.listNumbers('p', 's', signal),
    removeUnusedVolume: (runtime, signal) => runtime.agents.removeUnusedVolume('v', signal),
  },
  forwarders: {
    listForwarders: (runtime, signal) => runtime.forwarders.listForwarders('c', signal),
    startForwarder: (runtime, signal) => runtime.forwarders.startForwarder(FORWARDER, signal),
    removeForwarder: (runtime, signal) => runtime.forwarders.removeForwarder('id', signal),
  },
};
type Method = (runtime: DockerRuntime, signal: AbortSignal) => Promise<unknown>;

const METHODS = Object.entries(CALLS).flatMap(([part, methods]) =>
  Object.entries(methods).map(([name, call]) => ({ name: `${part}.${name}`, call: call })),
);

describe('with an engine that accepts connections and never answers', () => {
  let folder: string;
  let server: Server;
  let sockets: Socket[];
  let clock: ManualClock;
  let runtime: DockerRuntime;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'engine-'));
    sockets = [];
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => socket.destroy());
      socket.resume();
    });
    server.listen(join(folder, 'engine.sock'));
    await once(server, 'listening');
    clock = new ManualClock();
    runtime = connectDocker(join(folder, 'engine.sock'), () => 'full', clock, silent, {
      cgroupDir: join(folder, 'no-groups'),
    });
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  it.each(METHODS)('$name fails at its deadline', async ({ call }) => {
    const request = once(server, 'connection');
    const result = call(runtime, new AbortController().signal);
    const failed = expect(result).rejects.toThrow(/^the engine has not answered within \d+ s$/);
    await request;
    await clock.advance(600_000);
    await failed;
  });

  it.each(METHODS)('$name ends after its signal', async ({ call }) => {
    const abort = new AbortController();
    const request = once(server, 'connection');
    const result = call(runtime, abort.signal);
    const failed = expect(result).rejects.toBeDefined();
    await request;
    abort.abort(new Error('left'));
    await clock.advance(5_000);
    await failed;
  });

  it.each(METHODS)('$name is not begun with a signal that was aborted', async ({ call }) => {
    await expect(call(runtime, AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
    expect(sockets).toEqual([]);
  });
});

describe('the chunks of a stream', () => {
  it('fail when they pause for too long, but not while their reader does', async () => {
    const clock = new ManualClock();
    const stream = new PassThrough();
    const calls = new EngineCalls(new Docker(), clock);
    const chunks = calls.chunks(stream, new AbortController().signal, 60_000)[Symbol.asyncIterator]();
    stream.write('one');
    expect(String((await chunks.next()).value)).toBe('one');
    await clock.advance(600_000);
    stream.write('two');
    expect(String((await chunks.next()).value)).toBe('two');
    const failed = expect(chunks.next()).rejects.toThrow('the engine has not answered within 60 s');
    await clock.advance(60_000);
    await failed;
    expect(stream.destroyed).toBe(true);
  });
});
