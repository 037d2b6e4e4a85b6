import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { must, systemClock } from '@gantry/base';
import { buildImage } from '@gantry/base/testing';
import Docker from 'dockerode';
import { expect, it, onTestFinished } from 'vitest';
import { linuxMounts } from '../mounts/linux-mounts.ts';
import { plainImageVolume } from '../runtime/testing/plain-specs.ts';
import { connectDocker } from './docker-runtime.ts';

const run = promisify(execFile);
const docker = new Docker({ socketPath: '/var/run/docker.sock' });
const runtime = connectDocker(
  '/var/run/docker.sock',
  () => 'no-sys-resource',
  systemClock,
  () => undefined,
);
const { signal } = new AbortController();
// The engine has one container of a name, and other files run at the same time.
const POD = { uid: `uid-${randomBytes(4).toString('hex')}`, namespace: 'default', name: 'web' };
/**
 * The number of layers. It is three times as many as fit into an option of mount(8)'s newer system calls. The engine allows twice as
 * many, which take twice the time.
 */
const LAYERS = 60;

/** An image of these lines of a Dockerfile as a volume, and what a container of a pod sees of it. */
async function imageVolume(dockerfile: readonly string[], builder: 'BuildKit' | 'classic' = 'BuildKit') {
  const cluster = `images-${randomBytes(4).toString('hex')}`;
  const name = `gantry.test/${cluster}:1`;
  await buildImage(name, dockerfile.join('\n'), builder);
  await docker.createVolume({ Name: cluster });
  const volume = await docker.getVolume(cluster).inspect();
  const folder = join(volume.Mountpoint, 'image');
  await mkdir(folder);
  onTestFinished(async () => {
    const ours = await docker.listContainers({ all: true, filters: { label: [`gantry.cluster=${cluster}`] } });
    await Promise.all(ours.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
    await linuxMounts().remove(folder);
    await docker.getVolume(cluster).remove();
    await docker.getImage(name).remove();
  });
  const image = must(await runtime.images.inspectImage(name, signal), 'the image');
  const sandboxImage = must(await runtime.images.inspectImage('registry.k8s.io/pause:3.10', signal), 'the pause image');
  const owner = { cluster, node: 'n' };
  const spec = plainImageVolume({ owner, pod: POD, image, sandboxImage, hostFolder: folder });
  await runtime.imageVolumes.mountImage(spec, signal);
  const [state] = await runtime.observer.listPods({ cluster }, signal);
  const hold = must(state?.imageHolds[0], 'a hold');
  /** Returns the output of a script in a container that may mount. The folder is /volume. */
  const inContainer = async (script: string) => {
    const mount = `type=bind,source=${folder},target=/volume`;
    const rights = ['--cap-add=SYS_ADMIN', '--security-opt=seccomp=unconfined', '--security-opt=apparmor=unconfined'];
    const args = ['run', '--rm', ...rights, '--network=none', '--mount', mount, 'busybox:1.36', 'sh', '-c', script];
    return (await run('docker', args)).stdout.trim().split('\n');
  };
  return { folder, hold, inContainer };
}

it('an image volume has the files of all layers, as they are in the image, and nothing more', async () => {
  const { folder, inContainer } = await imageVolume([
    'FROM busybox:1.36',
    'RUN echo one > /data && mkdir /dir && echo gone > /dir/gone && echo keep > /dir/keep',
    'RUN echo two > /data && rm /dir/gone',
  ]);
  expect(await readFile(join(folder, 'data'), 'utf8')).toBe('two\n');
  expect(await readdir(join(folder, 'dir'))).toEqual(['keep']);
  // The file that the engine adds to a container of the image.
  expect(await readdir(folder)).not.toContain('.dockerenv');
  expect(await inContainer('cat /volume/data; /volume/bin/echo runs')).toEqual(['two', 'runs']);
});

it('an image of many layers is one folder with the files of all', async () => {
  const numbers = Array.from({ length: LAYERS }, (_, index) => String(index));
  // A layer without a container that makes it.
  const copies = numbers.map((one) => `COPY --from=busybox:1.36 /bin/true /${one}`);
  // BuildKit makes all layers at once, and gives up on a busy machine when many copy from one image (moby/buildkit#1822).
  const { folder } = await imageVolume(['FROM scratch', ...copies], 'classic');
  expect((await readdir(folder)).toSorted()).toEqual(numbers.toSorted());
});

it('an image without any file, and without a command, is an empty folder', async () => {
  const { folder, hold } = await imageVolume(['FROM scratch', 'LABEL kind=data']);
  expect(await readdir(folder)).toEqual([]);
  expect(((await stat(folder)).mode & 0o7777).toString(8)).toBe('755');
  expect((await docker.getContainer(hold).inspect()).State.Status).toBe('created');
});

it('an image cannot be written to, and gives no container a device or another user, whatever the container may do', async () => {
  const { inContainer } = await imageVolume([
    'FROM busybox:1.36',
    'RUN mknod /null c 1 3 && chmod 666 /null && cp /bin/busybox /root-id && chmod 4755 /root-id',
  ]);
  const script = [
    'touch /volume/new 2>/dev/null || echo "not written"',
    'mount -o remount,rw /volume 2>/dev/null; touch /volume/new 2>/dev/null || echo "nor after a remount"',
    'cat /volume/null 2>/dev/null || echo "no device"',
    'grep " /volume " /proc/mounts | cut -d" " -f4 | tr , "\\n" | grep -xE "nosuid|nodev|noexec"',
  ].join('; ');
  expect(await inContainer(script)).toEqual(['not written', 'nor after a remount', 'no device', 'nosuid', 'nodev']);
});

it('nothing of a hostile image is run, followed, or taken for something of the cluster', async () => {
  const { folder, hold } = await imageVolume([
    'FROM busybox:1.36',
    'RUN ln -s / /host && ln -s /etc /layers && ln -s /etc /volume && mkdir -p /v && dd if=/dev/zero of=/v/big bs=1M count=8',
    'LABEL gantry.cluster=another io.kubernetes.pod.uid=another com.docker.compose.project=gantry',
    'VOLUME ["/v", "/v/", "/bin/sh"]',
    'HEALTHCHECK CMD touch /run',
    'USER no-such-user',
    'STOPSIGNAL SIGSTOP',
    'ENTRYPOINT ["/bin/sh", "-c", "touch /host/gantry-was-here"]',
  ]);
  expect(await readlink(join(folder, 'host'))).toBe('/');
  expect(await readdir(join(folder, 'v'))).toEqual(['big']);
  const { Config: config, State: state, Mounts: mounts } = await docker.getContainer(hold).inspect();
  expect(state.Status).toBe('created');
  expect(mounts.filter(({ Type }) => Type === 'volume')).toEqual([]);
  expect(config.Labels).toMatchObject({ 'io.kubernetes.pod.uid': POD.uid, 'com.docker.compose.project': '' });
  expect(config.Healthcheck?.Test).toEqual(['NONE']);
});
