import { randomBytes } from 'node:crypto';
import { must, systemClock } from '@gantry/base';
import { buildImage } from '@gantry/base/testing';
import type { PodSecurityContext } from '@gantry/objects';
import Docker from 'dockerode';
import { expect, it, onTestFinished } from 'vitest';
import { ImageUsers } from '../pods/image-users.ts';
import { plainContainer, plainSandbox } from '../runtime/testing/plain-specs.ts';
import { containerSecurity } from '../spec/security.ts';
import { container, ENGINE, pod } from '../testing/pods.ts';
import { connectDocker } from './docker-runtime.ts';

const SOCKET = '/var/run/docker.sock';
const docker = new Docker({ socketPath: SOCKET });
const { signal } = new AbortController();
// The engine has one container of a name, and other files run at the same time.
const POD = { uid: `uid-${randomBytes(4).toString('hex')}`, namespace: 'default', name: 'web' };

/** Builds an image from these lines of a Dockerfile, and a cluster whose containers are removed at the end of the test. */
async function imageOf(dockerfile: readonly string[]) {
  const cluster = `files-${randomBytes(4).toString('hex')}`;
  const name = `gantry.test/${cluster}:1`;
  const asked: string[] = [];
  const runtime = connectDocker(
    SOCKET,
    () => 'no-sys-resource',
    systemClock,
    () => undefined,
    { observe: (call) => void asked.push(call) },
  );
  await buildImage(name, dockerfile.join('\n'), 'BuildKit');
  const ours = () => docker.listContainers({ all: true, filters: { label: [`gantry.cluster=${cluster}`] } });
  onTestFinished(async () => {
    await Promise.all((await ours()).map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
    await docker.getImage(name).remove();
  });
  const image = must(await runtime.images.inspectImage(name, signal), 'the image');
  const owner = { cluster, node: 'n' };
  const read = async (paths: readonly string[], maxBytes = 2 ** 20) => {
    const spec = { owner, pod: POD, graceSeconds: 0, container: 'main', image, paths, maxBytes };
    const found = await runtime.imageFiles.readImageFiles(spec, signal);
    return [...found].map(([path, content]) => [path, Buffer.from(content).toString()]);
  };
  return { image, runtime, owner, read, ours, asked };
}

/** Returns the volumes that the engine created without a given name and that no container uses any more. */
async function anonymousVolumes(): Promise<readonly string[]> {
  const { Volumes: volumes } = await docker.listVolumes({ filters: { dangling: ['true'] } });
  return volumes.map(({ Name }) => Name).filter((name) => /^[0-9a-f]{64}$/.test(name));
}

/** The users of an image for the tests below. */
const USERS = [
  'FROM busybox:1.36',
  'RUN echo "app:x:1000:1001::/:/bin/sh" >> /etc/passwd && mkdir -p /real',
  'RUN printf "app:x:1001:\\ndisk:x:50000:app\\nmore:x:50001:other,app\\n" >> /etc/group',
];

it('the files of an image are read through links of its own, and as the image has them', async () => {
  const { read, ours } = await imageOf([
    ...USERS,
    'RUN mv /etc/passwd /real/users && ln -s ../../../real/users /etc/passwd',
    'RUN mv /etc/group /real/groups && ln -s /real/link /etc/group && ln -s groups /real/link',
    'RUN ln -s /no/such/file /etc/gone && ln -s loop /etc/loop',
  ]);
  const [passwd, group, ...others] = await read(['/etc/passwd', '/etc/group', '/etc/gone', '/etc/none/passwd']);
  expect(passwd?.[1]).toMatch(/\napp:x:1000:1001::\/:\/bin\/sh\n$/);
  expect(group?.[1]).toMatch(/\ndisk:x:50000:app\nmore:x:50001:other,app\n$/);
  expect(others).toEqual([]);
  await expect(read(['/etc/loop'])).rejects.toMatchObject({ code: 'CreateContainerError' });
  expect(await ours()).toEqual([]);
});

it('nothing of a hostile image is run, read as a whole, or left behind', async () => {
  const { read, ours, image } = await imageOf([
    'FROM busybox:1.36',
    'RUN dd if=/dev/zero of=/etc/large bs=1M count=64 && mkfifo /etc/pipe && mknod /etc/zero c 1 5 && mkdir /etc/folder',
    'RUN ln -s /etc/folder /etc/to-folder && ln -s /proc/1/environ /etc/to-proc && mkdir /data && echo 1 > /data/file',
    'LABEL gantry.cluster=another io.kubernetes.pod.uid=another gantry.process-user=0:0:0',
    'VOLUME ["/data"]',
    'USER no-such-user',
    'ENTRYPOINT ["/bin/false"]',
  ]);
  const file = 'it is not a file';
  const reasons = { large: 'it is larger than 1048576 bytes', pipe: file, zero: file, folder: file, 'to-folder': file };
  for (const [name, reason] of Object.entries(reasons)) {
    await expect(read([`/etc/${name}`])).rejects.toMatchObject({
      code: 'CreateContainerError',
      message: `cannot read /etc/${name} of the image: ${reason}`,
    });
  }
  // The link leads to no process of the container or the engine.
  expect(await read(['/etc/to-proc'])).toEqual([]);
  expect(await ours()).toEqual([]);
  expect(image.labels).toContain('gantry.process-user');
  const before = new Set(await anonymousVolumes());
  await read(['/data/file']);
  // Tests that run at the same time remove their own volumes.
  await expect.poll(async () => (await anonymousVolumes()).filter((name) => !before.has(name))).toEqual([]);
});

it.each<{ name: string; context: PodSecurityContext; ids: readonly [number, number]; groups: readonly number[] }>([
  { name: 'no policy', context: { supplementalGroups: [60_000] }, ids: [1000, 1001], groups: [50_000, 50_001, 60_000] },
  {
    name: 'Merge',
    context: { fsGroup: 2000, supplementalGroupsPolicy: 'Merge' },
    ids: [1000, 1001],
    groups: [50_000, 50_001, 2000],
  },
  {
    name: 'Strict',
    context: { supplementalGroups: [60_000], supplementalGroupsPolicy: 'Strict' },
    ids: [1000, 1001],
    groups: [60_000],
  },
  { name: 'a group', context: { runAsGroup: 3000 }, ids: [1000, 3000], groups: [50_000, 50_001] },
  {
    name: 'a group and Strict',
    context: { runAsGroup: 3000, supplementalGroupsPolicy: 'Strict' },
    ids: [1000, 3000],
    groups: [],
  },
])('a process has the user and groups that its container is listed with: $name', async ({ context, ids, groups }) => {
  const { image, runtime, owner } = await imageOf(USERS);
  const shared = { runAsUser: 1000, ...context };
  const object = pod({ securityContext: shared }, {}, { name: 'web' });
  const imageUser = await new ImageUsers(systemClock).find(object, container(), image, { owner, runtime }, signal);
  const security = containerSecurity(object, container(), image, ENGINE, imageUser === undefined ? {} : { imageUser });
  const sandbox = { owner, pod: POD, image: 'registry.k8s.io/pause:3.10' };
  const sandboxId = await runtime.sandboxes.createSandbox(plainSandbox(sandbox), signal);
  // The container's other permissions do not matter here.
  const { user = '', processUser, groups: added } = security;
  const command = ['sh', '-c', 'grep -E "^(Uid|Gid|Groups):" /proc/self/status; exec sleep 3600'];
  const spec = plainContainer({
    ...{ owner, pod: POD, sandboxId, image: image.id, command },
    security: { user, groups: added, ...(processUser === undefined ? {} : { processUser }) },
  });
  const id = await runtime.containers.createContainer(spec, signal);
  await runtime.containers.startContainer(id, signal);
  const status = async (command: readonly string[]) => {
    const { output } = await runtime.containers.exec(id, command, signal);
    const lines = output.split('\n').map((line) => line.split(/\s+/));
    const of = (field: string) => lines.find(([name]) => name === `${field}:`) ?? [];
    const found = of('Groups')
      .slice(1)
      .filter((one) => one !== '')
      .map(Number);
    return { uid: Number(of('Uid')[1]), gid: Number(of('Gid')[1]), groups: new Set(found) };
  };
  const [uid, gid] = ids;
  for (const file of ['/proc/1/status', '/proc/self/status']) {
    const found = await status(['cat', file]);
    expect([found.uid, found.gid]).toEqual(ids);
    // Some versions of the engine omit the process's own group.
    expect(new Set([...found.groups, gid])).toEqual(new Set([gid, ...groups]));
  }
  const [listed] = await runtime.observer.listPods({ cluster: owner.cluster }, signal);
  expect(listed?.containers[0]?.processUser).toEqual({ uid, gid, groups: [gid, ...groups] });
});

it('an image is read once for many containers, and not for a usual pod', async () => {
  const { image, runtime, owner, asked } = await imageOf(USERS);
  const users = new ImageUsers(systemClock);
  const find = (securityContext: PodSecurityContext) =>
    users.find(pod({ securityContext }), container(), image, { owner, runtime }, signal);
  asked.length = 0;
  await find({ runAsUser: 1000, fsGroup: 2000 });
  expect(asked).toEqual([]);
  await Promise.all(Array.from({ length: 10 }, () => find({ runAsUser: 1000, runAsGroup: 5 })));
  expect(asked.filter((call) => call.includes('/archive'))).toHaveLength(2);
  expect(asked).toHaveLength(5);
});
