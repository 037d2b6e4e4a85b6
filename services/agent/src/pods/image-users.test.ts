import { ManualClock } from '@gantry/base/testing';
import type { PodSecurityContext } from '@gantry/objects';
import { PODS } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSpec } from '../runtime/containers.ts';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode } from '../testing/start-node.ts';
import { ImageUsers } from './image-users.ts';
import type { ImageFilesSpec } from '../runtime/images.ts';

const FILES = new Map([
  ['/etc/passwd', Buffer.from('app:x:1000:1000::/:/bin/sh\n')],
  ['/etc/group', Buffer.from('app:x:1000:\ndisk:x:50000:app\n')],
]);
const { signal } = new AbortController();
const imageOf = (id: string) => ({ id, sizeBytes: 1, digests: [], user: '', labels: [] });

/** Returns the users of images. The test decides when the images' files are read. */
function users(files: (spec: ImageFilesSpec) => Promise<ReadonlyMap<string, Uint8Array>> = async () => FILES) {
  const reads: ImageFilesSpec[] = [];
  const readImageFiles = (spec: ImageFilesSpec) => {
    reads.push(spec);
    return files(spec);
  };
  const services = { owner: { cluster: 'c', node: 'n' }, runtime: { imageFiles: { readImageFiles } } };
  const clock = new ManualClock();
  const known = new ImageUsers(clock);
  const find = (securityContext: PodSecurityContext, id = 'sha256:1', abort = signal) =>
    known.find(pod({ securityContext }), container(), imageOf(id), services, abort);
  return { reads, find, clock };
}

describe('the files of an image', () => {
  it('are read for a pod that asks about groups, and only then', async () => {
    const { reads, find } = users();
    for (const silent of [{}, { runAsUser: 1000 }, { fsGroup: 2000 }, { runAsNonRoot: true }]) {
      expect(await find(silent)).toBeUndefined();
    }
    expect(reads).toEqual([]);
    const asking: readonly PodSecurityContext[] = [
      { runAsUser: 1000, runAsGroup: 3000 },
      { runAsUser: 1000, supplementalGroups: [4000] },
      { runAsUser: 1000, supplementalGroupsPolicy: 'Merge' },
      { runAsUser: 1000, supplementalGroupsPolicy: 'Strict' },
    ];
    for (const [index, context] of asking.entries()) {
      expect(await find(context, `sha256:${index}`)).toMatchObject({ uid: 1000, gid: 1000, groups: [50_000] });
    }
    expect(reads).toHaveLength(4);
    expect(reads[0]).toMatchObject({ container: 'main', paths: ['/etc/passwd', '/etc/group'], maxBytes: 2 ** 20 });
  });

  it('are read once for an image and user, and serve pods that do not ask', async () => {
    const { reads, find } = users();
    await find({ runAsUser: 1000, runAsGroup: 3000 });
    await find({ runAsUser: 1000, supplementalGroupsPolicy: 'Strict' });
    expect(await find({ runAsUser: 1000 })).toMatchObject({ groups: [50_000] });
    expect(reads).toHaveLength(1);
    await find({ runAsUser: 0, runAsGroup: 3000 });
    await find({ runAsUser: 1000, runAsGroup: 3000 }, 'sha256:2');
    expect(reads).toHaveLength(3);
  });

  it('are read once for containers that ask at the same time, and again where that failed', async () => {
    const held = Promise.withResolvers<void>();
    const { reads, find } = users(async () => {
      const isFirst = reads.length === 1;
      await held.promise;
      if (isFirst) throw new AgentError('CreateContainerError', 'the engine is down');
      return FILES;
    });
    const found = Promise.allSettled(Array.from({ length: 3 }, () => find({ runAsUser: 1000, runAsGroup: 1 })));
    await expect.poll(() => reads).toHaveLength(1);
    held.resolve();
    expect((await found).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(reads).toHaveLength(2);
  });

  it('are read of two users at a time, so that many users of one image make few containers at once', async () => {
    const held: (() => void)[] = [];
    let most = 0;
    let open = 0;
    const { reads, find } = users(async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise<void>((resolve) => held.push(resolve));
      open -= 1;
      return FILES;
    });
    const found = Promise.all(Array.from({ length: 7 }, (_, index) => find({ runAsUser: index, runAsGroup: 1 })));
    for (let ended = 0; ended < 7; ended++) {
      await expect.poll(() => held.length).toBeGreaterThan(0);
      held.shift()?.();
    }
    expect((await found).map((user) => user?.uid)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(reads).toHaveLength(7);
    expect(most).toBe(2);
  });

  it('are read though two containers have given up that were waiting for others', async () => {
    const held: (() => void)[] = [];
    const { reads, find } = users(async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return FILES;
    });
    const first = [0, 1].map((uid) => find({ runAsUser: uid, runAsGroup: 1 }));
    const own = new AbortController();
    const given = [2, 3].map((uid) => find({ runAsUser: uid, runAsGroup: 1 }, 'sha256:1', own.signal));
    const last = find({ runAsUser: 4, runAsGroup: 1 });
    own.abort(new Error('given up'));
    expect((await Promise.allSettled(given)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    for (const release of held.splice(0)) release();
    await Promise.all(first);
    await expect.poll(() => held).toHaveLength(1);
    held.shift()?.();
    expect(await last).toMatchObject({ uid: 4 });
    expect(reads).toHaveLength(3);
  });

  it('are read after ten seconds though two readings hang, which go on', async () => {
    const hung = Promise.withResolvers<void>();
    const { reads, find, clock } = users(async ({ image }) => {
      if (image.id === 'sha256:broken') await hung.promise;
      return FILES;
    });
    const broken = [0, 1].map((uid) => find({ runAsUser: uid, runAsGroup: 1 }, 'sha256:broken'));
    const other = find({ runAsUser: 1000, runAsGroup: 1 });
    await clock.advance(9_999);
    expect(reads).toHaveLength(2);
    await clock.advance(1);
    expect(reads).toHaveLength(3);
    expect(await other).toMatchObject({ uid: 1000 });
    hung.resolve();
    expect((await Promise.all(broken)).map((user) => user?.uid)).toEqual([0, 1]);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('keep no container waiting whose own start was given up', async () => {
    const { find } = users(() => new Promise(() => undefined));
    void find({ runAsGroup: 1 });
    const own = new AbortController();
    const waiting = find({ runAsGroup: 1 }, 'sha256:1', own.signal);
    own.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
  });

  it('are forgotten for those that were not used for the longest time', async () => {
    const { reads, find } = users();
    const use = (index: number) => find({ runAsGroup: 1 }, `sha256:${index}`);
    for (let index = 0; index < 200; index++) await use(index);
    await use(0);
    await use(200);
    await use(0);
    expect(reads).toHaveLength(201);
    await use(1);
    expect(reads).toHaveLength(202);
  });
});

it('a container runs with the groups that its policy says, and its status shows them', async () => {
  const made: ContainerSpec[] = [];
  const behaviour = {
    exitAfter: (spec: ContainerSpec) => void made.push(spec),
    imageFiles: () => Object.fromEntries([...FILES].map(([path, content]) => [path, content.toString()])),
  };
  const node = await startNode({ behaviour });
  const run = async (name: string, securityContext: PodSecurityContext) => {
    const { metadata } = await node.put(pod({ securityContext }, {}, { name }));
    const { uid = '' } = metadata;
    await soon(node, () => node.pods.get(uid)).toBeDefined();
    node.work(uid);
    const status = () => node.client.all(PODS).find((one) => one.metadata.name === name)?.status;
    await soon(node, () => status()?.phase).toBe('Running');
    const spec = made.find((one) => one.pod.name === name);
    return [spec?.security.user, spec?.security.groups, status()?.containerStatuses?.[0]?.user?.linux];
  };
  expect(await run('usual', { runAsUser: 1000 })).toEqual(['1000', [], undefined]);
  const context = { runAsUser: 1000, fsGroup: 2000, supplementalGroups: [60_000] };
  expect(await run('merge', context)).toEqual([
    '1000:1000',
    ['50000', '2000', '60000'],
    { uid: 1000, gid: 1000, supplementalGroups: [1000, 50_000, 2000, 60_000] },
  ]);
  expect(await run('strict', { ...context, supplementalGroupsPolicy: 'Strict' })).toEqual([
    '1000:1000',
    ['2000', '60000'],
    { uid: 1000, gid: 1000, supplementalGroups: [1000, 2000, 60_000] },
  ]);
  expect(await run('group', { runAsUser: 1000, runAsGroup: 3000 })).toEqual([
    '1000:3000',
    ['50000'],
    { uid: 1000, gid: 3000, supplementalGroups: [3000, 50_000] },
  ]);
});
