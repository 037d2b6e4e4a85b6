import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { ImageCollector } from './image-collector.ts';
import { unsharedPulls } from './host-pulls.ts';
import { ImagePuller } from './image-puller.ts';
import { PulledImages } from './pulled-images.ts';
import type { HostReading } from '../runtime/stats.ts';

const GI = 2 ** 30;
const MINUTE = 60_000;
const image = (id: string, labels: readonly string[] = []): ImageInfo => ({
  id: `sha256:${id}`,
  sizeBytes: GI,
  digests: [],
  user: '',
  labels,
});

describe('a host whose disk fills', () => {
  const { signal } = new AbortController();
  let folder: string;
  let clock: ManualClock;
  let runtime: HollowRuntime;
  let pulled: PulledImages;
  let puller: ImagePuller;
  let events: string[];
  let disk: HostReading['disk'];
  let collector: ImageCollector;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-images-'));
    clock = new ManualClock();
    runtime = new HollowRuntime({
      clock,
      // Foreign images: the host had them before, with the names and labels of images that pods use.
      images: {
        pause: image('pause'),
        'app:built': image('built', ['gantry.cluster', 'io.kubernetes.pod.uid']),
        'there:1': image('there'),
      },
      registry: {
        'pause:new': image('pause'),
        'app:1': image('one'),
        'app:also-one': image('one'),
        'app:2': image('two'),
        'app:3': image('three'),
        'there:1': image('there'),
      },
    });
    pulled = new PulledImages(folder, 'n');
    puller = new ImagePuller({ images: runtime.images, records: pulled, sharing: unsharedPulls, clock });
    events = [];
    disk = { availableBytes: 10 * GI, capacityBytes: 100 * GI, freeInodes: 1, inodes: 1 };
    collector = new ImageCollector({
      highPercent: 85,
      lowPercent: 80,
      minAgeMs: 2 * MINUTE,
      node: 'n',
      images: runtime.images,
      pulled,
      meter: {
        read: async () => ({
          memory: { availableBytes: 1, capacityBytes: 1 },
          disk,
          processes: { available: 1, capacity: 1 },
        }),
      },
      sandboxImage: 'pause',
      events: { event: (_about, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
      clock,
      logger: silentLogger,
    });
  });
  afterEach(() => rm(folder, { recursive: true }));

  const pull = async (reference: string) => {
    await puller.pull(reference, [], signal);
    await clock.advance(MINUTE);
  };
  const left = async () => (await runtime.images.listImages()).flatMap(({ names }) => names).toSorted();
  const FOREIGN = ['app:built', 'pause:latest', 'there:1'];
  const use = async (name: string, node: string) => {
    const owner = { cluster: 'c', node };
    const pod = { uid: name, namespace: 'd', name };
    const network = { kind: 'host' } as const;
    await runtime.sandboxes.createSandbox(
      {
        owner,
        pod,
        attempt: 0,
        image: name,
        imageLabels: [],
        ipc: 'own',
        seccomp: 'own',
        hostname: name,
        network,
        hostAliases: [],
        dns: { servers: [], searches: [], options: [] },
        sysctls: {},
        oomScoreAdj: 0,
        graceSeconds: 0,
      },
      signal,
    );
  };

  it('loses the images that were used the longest time ago, and no more than it needs', async () => {
    for (const reference of ['app:1', 'app:2', 'app:3']) await pull(reference);
    await pulled.touch('sha256:one', clock.now());
    await clock.advance(3 * MINUTE);
    disk = { ...disk, capacityBytes: 20 * GI, availableBytes: 2 * GI };
    await collector.collect(signal);
    expect(await left()).toEqual(['app:1', ...FOREIGN].toSorted());
    expect(await pulled.recordsOf('sha256:two')).toEqual([]);
    expect(events).toEqual([]);
  });

  it('loses nothing below the threshold', async () => {
    await pull('app:1');
    await clock.advance(3 * MINUTE);
    disk = { ...disk, availableBytes: 20 * GI };
    await collector.collect(signal);
    expect(await left()).toContain('app:1');
  });

  it('never loses an image that was there before, even if it was pulled again', async () => {
    await pull('there:1');
    await pull('pause:new');
    await clock.advance(3 * MINUTE);
    await expect(collector.collect(signal)).rejects.toThrow('(freed 0 bytes)');
    expect(await left()).toEqual(['app:built', 'pause:latest', 'pause:new', 'there:1']);
  });

  it('loses an image that was pulled twice, and one that an agent had begun to pull when it ended', async () => {
    await pull('app:1');
    await pull('app:1');
    await pulled.intend('app:2');
    await runtime.images.pullImage('app:2', 'anonymous', signal);
    await pull('app:2');
    await clock.advance(3 * MINUTE);
    await expect(collector.collect(signal)).rejects.toThrow('Insufficient');
    expect(await left()).toEqual(FOREIGN);
  });

  it('keeps what a container uses, and what was used a short time ago', async () => {
    for (const reference of ['app:1', 'app:2', 'app:3']) await pull(reference);
    await clock.advance(3 * MINUTE);
    await use('app:1', 'another');
    await pulled.touch('sha256:two', clock.now() - 2 * MINUTE + 1);
    await expect(collector.collect(signal)).rejects.toThrow(
      "Insufficient free disk space on the node's image filesystem (90% of 100.0 GiB used). Failed to free sufficient space by deleting unused images (freed 1073741824 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
    );
    expect(await left()).toEqual(['app:1', 'app:2', ...FOREIGN].toSorted());
    expect(events).toEqual([expect.stringMatching(/^Warning FreeDiskSpaceFailed Insufficient free disk space/)]);
    // An image in use at the last look counts as used at that time.
    expect(await pulled.lastUsedOf('sha256:one')).toBe(clock.now());
  });

  it.each<{ when: string; meanwhile: () => Promise<unknown>; names: readonly string[] }>([
    {
      when: 'is pulled by another name while the first one is removed',
      meanwhile: () => puller.pull('app:also-one', [], signal),
      names: ['app:also-one'],
    },
    {
      when: 'is given another name by a user while the first one is removed',
      meanwhile: () => runtime.images.pullImage('app:also-one', 'anonymous', signal),
      names: ['app:also-one'],
    },
    {
      when: 'is still being pulled by another name, and not there yet',
      meanwhile: () => pulled.intend('app:also-one'),
      names: [],
    },
  ])('keeps the records of an image that $when', async ({ meanwhile, names }) => {
    await pull('app:1');
    await clock.advance(3 * MINUTE);
    const { removeImage } = runtime.images;
    runtime.images.removeImage = async (name) => {
      await meanwhile();
      await removeImage(name);
    };
    await expect(collector.collect(signal)).rejects.toThrow('Insufficient');
    expect(await left()).toEqual([...names, ...FOREIGN].toSorted());
    expect(await pulled.recordsOf('sha256:one')).not.toEqual([]);
  });

  it('keeps the record of a pull that began after the last look at the image', async () => {
    await pull('app:1');
    await clock.advance(3 * MINUTE);
    const lastUsedOf = pulled.lastUsedOf.bind(pulled);
    pulled.lastUsedOf = async (id) => {
      const lastUsed = await lastUsedOf(id);
      // The look after the image has disappeared is the last one.
      if (!(await left()).includes('app:1')) await puller.pull('app:1', [], signal);
      return lastUsed;
    };
    await expect(collector.collect(signal)).rejects.toThrow('Insufficient');
    expect(await left()).toContain('app:1');
    expect(await pulled.recordsOf('sha256:one')).toEqual([{ reference: 'app:1', access: 'anyone', origin: 'pulled' }]);
  });

  it('keeps an image that was used after it was listed', async () => {
    for (const reference of ['app:1', 'app:2']) await pull(reference);
    await clock.advance(3 * MINUTE);
    const { removeImage } = runtime.images;
    runtime.images.removeImage = async (name) => {
      await pulled.touch('sha256:two', clock.now());
      await removeImage(name);
    };
    await expect(collector.collect(signal)).rejects.toThrow('(freed 1073741824 bytes)');
    expect(await left()).toEqual(['app:2', ...FOREIGN].toSorted());
  });

  it('has its images collected by the one agent that leads, which reports what fails twice', async () => {
    await pull('app:1');
    await clock.advance(3 * MINUTE);
    expect(await collector.deleteUnused(signal)).toBe(0);
    expect(await left()).toContain('app:1');
    const term = new AbortController();
    disk = { ...disk, capacityBytes: 0 };
    const leading = collector.lead(term.signal);
    await expect.poll(() => events).toEqual(['Warning InvalidDiskCapacity invalid capacity 0 on image filesystem']);
    expect(await collector.deleteUnused(signal)).toBe(GI);
    await clock.advance(5 * MINUTE);
    await expect.poll(() => events.at(-1)).toBe('Warning ImageGCFailed invalid capacity 0 on image filesystem');
    term.abort();
    await leading;
    expect(await collector.deleteUnused(signal)).toBe(0);
  });
});
