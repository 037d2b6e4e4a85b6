import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errorMessage, systemClock } from '@gantry/base';
import Docker from 'dockerode';
import { beforeAll, expect, it } from 'vitest';
import { linuxMounts } from '../mounts/linux-mounts.ts';
import type { NameServer } from '../runtime/sandboxes.ts';
import { describeRuntime, type RuntimeUnderTest } from '../runtime/testing/runtime-contract.ts';
import { DEVICE_TEXT } from '../runtime/testing/devices-contract.ts';
import type { LogOptions } from '../runtime/logs.ts';
import { plainContainer, plainSandbox } from '../runtime/testing/plain-specs.ts';
import { connectDocker } from './docker-runtime.ts';
import { LoopDevices } from '../testing/loop-devices.ts';
import { createTestNetwork } from './testing/test-network.ts';

const silent = () => undefined;

const SOCKET = '/var/run/docker.sock';
const LABEL = 'gantry.cluster';
// The engine has one container of a name, and other files run at the same time.
const POD = { uid: `uid-${randomBytes(4).toString('hex')}`, namespace: 'default', name: 'web' };

async function eventually(check: () => Promise<boolean>): Promise<void> {
  for (let tried = 0; tried < 1200; tried++) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the condition did not hold within 60 s');
}

/** The file as another program reads it. */
const PASSWD = promisify(execFile)('docker', ['run', '--rm', '--network=none', 'busybox:1.36', 'cat', '/etc/passwd']);

/** The privilege that this engine gives to privileged containers. */
const PRIVILEGE = connectDocker(SOCKET, () => 'full', systemClock, silent, { cgroupDir: '/nonexistent' }).engine.probe(
  'busybox:1.36',
  { cluster: `contract-${randomBytes(4).toString('hex')}`, node: 'n' },
  AbortSignal.timeout(60_000),
);

/** An interrupted run leaves containers under the names that this one needs, and their networks and volumes. */
beforeAll(async () => {
  await PRIVILEGE;
  const docker = new Docker({ socketPath: SOCKET });
  const filters = { label: [LABEL] };
  const isOurs = ({ Labels }: { readonly Labels?: Readonly<Record<string, string>> | null }) =>
    Labels?.[LABEL]?.startsWith('contract-') === true;
  for (const { Id } of (await docker.listContainers({ all: true, filters })).filter(isOurs))
    await docker.getContainer(Id).remove({ force: true, v: true });
  for (const { Id } of (await docker.listNetworks({ filters })).filter(isOurs)) await docker.getNetwork(Id).remove();
  for (const { Name } of (await docker.listVolumes({ filters })).Volumes.filter(isOurs))
    await docker.getVolume(Name).remove();
});

describeRuntime('docker runtime', () => dockerUnderTest('/sys/fs/cgroup'));
describeRuntime('docker runtime whose engine connects sandboxes', () => dockerUnderTest('/sys/fs/cgroup', 'engine'));
describeRuntime('docker runtime that cannot read control groups', () => dockerUnderTest('/nonexistent'));

/** Each test has its own network and cluster id. Both are removed at its end. */
async function dockerUnderTest(cgroupDir: string, nameServer: NameServer = 'network'): Promise<RuntimeUnderTest> {
  const docker = new Docker({ socketPath: SOCKET });
  const cluster = `contract-${randomBytes(4).toString('hex')}`;
  const { network, address } = await createTestNetwork(docker, { name: cluster, labels: { [LABEL]: cluster } });
  const made: string[] = [];
  const devices = new LoopDevices();
  // The folder is below the engine's folder, whose mounts are shared.
  await docker.createVolume({ Name: cluster, Labels: { [LABEL]: cluster } });
  const volume = await docker.getVolume(cluster).inspect();
  const privilege = await PRIVILEGE;
  return {
    makeImage: async (name) => {
      const base = await docker.createContainer({ Image: 'busybox:1.36', Labels: { [LABEL]: cluster } });
      const [repo, tag] = name.split(':');
      await base.commit({ repo, tag, changes: `LABEL made=${name}` });
      await base.remove();
      made.push(name);
    },
    runtime: connectDocker(SOCKET, () => privilege, systemClock, silent, { cgroupDir }),
    makeDevice: () => devices.make(DEVICE_TEXT),
    makeFolder: () => mkdtemp(join(volume.Mountpoint, 'folder-')),
    cluster,
    network: cluster,
    nameServer,
    addresses: [address(130), address(131)],
    sandboxImage: 'registry.k8s.io/pause:3.10',
    image: 'busybox:1.36',
    imageFile: ['/etc/passwd', (await PASSWD).stdout],
    // On a busy machine, runc gives up freezing a control group of version 1 after some tries.
    pause: (id) =>
      eventually(async () => {
        try {
          await docker.getContainer(id).pause();
          return true;
        } catch (error) {
          if (!/unable to freeze/.test(errorMessage(error))) throw error;
          return false;
        }
      }),
    kill: async (id) => {
      await docker.getContainer(id).kill();
    },
    processes: async (id) => {
      const { Processes: found } = (await docker.getContainer(id).top({ ps_args: '-eo pid,args' })) as {
        Processes: readonly (readonly string[])[];
      };
      return found.map((columns) => columns.slice(1).join(' '));
    },
    eventually,
    [Symbol.asyncDispose]: async () => {
      const containers = await docker.listContainers({ all: true, filters: { label: [`${LABEL}=${cluster}`] } });
      await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
      await devices[Symbol.asyncDispose]();
      await network.remove();
      await linuxMounts().remove(volume.Mountpoint);
      await docker.getVolume(cluster).remove();
      for (const name of made) await docker.getImage(name).remove().catch(ignoreMissing);
    },
  };
}

/** The test may have removed it already. */
function ignoreMissing(error: unknown): void {
  if ((error as { statusCode?: number }).statusCode !== 404) throw error;
}

it('a container keeps no label of its image, so that Compose and agents never take it for one of theirs', async () => {
  const docker = new Docker({ socketPath: SOCKET });
  const runtime = connectDocker(SOCKET, () => 'no-sys-resource', systemClock, silent);
  const cluster = `labels-${randomBytes(4).toString('hex')}`;
  const reference = `gantry.test/${cluster}:1`;
  const labels = {
    'com.docker.compose.project': cluster,
    'com.docker.compose.service': 'etcd-0',
    'com.docker.compose.container-number': '1',
    'com.docker.compose.oneoff': 'False',
    'gantry.cluster': 'another',
    'gantry.termination-message': '/etc/passwd',
    'io.kubernetes.pod.uid': 'another',
    maintainer: 'x',
  };
  const { signal } = new AbortController();
  const base = await docker.createContainer({ Image: 'busybox:1.36' });
  try {
    const changes = Object.entries(labels).map(([name, value]) => `LABEL ${name}=${value}`);
    await base.commit({ repo: `gantry.test/${cluster}`, tag: '1', changes: changes.join('\n') });
    const image = await runtime.images.inspectImage(reference, signal);
    if (image === undefined) throw new Error('the image does not exist');
    const sandbox = await docker.createContainer({ Image: 'busybox:1.36', Labels: { [LABEL]: cluster } });
    const id = await runtime.containers.createContainer(
      plainContainer({
        owner: { cluster, node: 'n' },
        pod: POD,
        sandboxId: sandbox.id,
        image: image.id,
        imageLabels: image.labels,
      }),
      signal,
    );
    const { Config: config } = await docker.getContainer(id).inspect();
    const foreign = Object.entries(config.Labels).filter(
      ([name, value]) => value === labels[name as keyof typeof labels],
    );
    expect(foreign).toEqual([]);
    expect(config.Labels).toMatchObject({ 'gantry.cluster': cluster, 'io.kubernetes.pod.uid': POD.uid });
    const taken = await runtime.agents.listNumbers(cluster, 'etcd-0', signal);
    expect(taken.size).toBe(0);
    const pods = await runtime.observer.listPods({ cluster }, signal);
    expect(pods[0]?.containers).toMatchObject([{ terminationMessagePath: undefined }]);
  } finally {
    const ours = await docker.listContainers({ all: true, filters: { label: [`${LABEL}=${cluster}`] } });
    await Promise.all(ours.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
    await base.remove({ force: true, v: true });
    await docker.getImage(reference).remove();
  }
});

it("a container has its limit of processes and its node's seccomp profile", async () => {
  const docker = new Docker({ socketPath: SOCKET });
  const runtime = connectDocker(SOCKET, () => 'no-sys-resource', systemClock, silent);
  const cluster = `limits-${randomBytes(4).toString('hex')}`;
  const { signal } = new AbortController();
  const owner = { cluster, node: 'node-a' };
  const denied = { names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' };
  const profile = JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls: [denied] });
  try {
    const sandboxId = await runtime.sandboxes.createSandbox(
      plainSandbox({ owner, pod: POD, image: 'registry.k8s.io/pause:3.10' }),
      signal,
    );
    const script =
      'touch /made && mkdir /refused || echo refused; cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; df -k /dev/shm | tail -1';
    const id = await runtime.containers.createContainer(
      plainContainer({
        owner,
        pod: POD,
        sandboxId,
        image: 'busybox:1.36',
        command: ['sh', '-c', script],
        processLimit: 77,
        security: { seccomp: { profile } },
      }),
      signal,
    );
    await runtime.containers.startContainer(id, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of runtime.logs.readLogs(id, { follow: true, timestamps: false }, signal))
      chunks.push(chunk);
    const lines = Buffer.concat(chunks).toString().split('\n');
    expect(lines).toContain('refused');
    expect(lines).toContain('77');
    expect(lines.find((line) => line.startsWith('shm'))).toMatch(/^shm +65536 /);
  } finally {
    const ours = await docker.listContainers({ all: true, filters: { label: [`${LABEL}=${cluster}`] } });
    await Promise.all(ours.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
  }
});

/** Makes a shell wait for the file `/go`. The engine watches a container's memory only after it has started the container. */
const UNTIL_GO = 'until test -f /go; do sleep 0.1; done';

/** Follows the engine's events until it is disposed. `killed` resolves when a container has run out of memory. */
async function watchMemory({ cluster, runtime }: Pick<RuntimeUnderTest, 'cluster' | 'runtime'>) {
  const stop = new AbortController();
  const connected = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const event of runtime.observer.watch(cluster, stop.signal)) {
      if (event === 'connected') connected.resolve();
      else if (event.what === 'outOfMemory') killed.resolve();
    }
  })();
  await connected.promise;
  return {
    killed: killed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await expect(watching).rejects.toBeDefined();
    },
  };
}

it('containers of a pod use no more memory together than the pod has, though each has as much for itself', async () => {
  await using test = await dockerUnderTest('/sys/fs/cgroup');
  const { cluster, runtime, sandboxImage } = test;
  const { signal } = new AbortController();
  const owner = { cluster, node: 'node-a' };
  const resources = { cpuShares: 2, memoryBytes: 64 * 2 ** 20 };
  const sandbox = plainSandbox({ owner, pod: POD, image: sandboxImage, resources });
  // If systemd manages the groups, pods have none.
  if ((await runtime.engine.info(signal)).podGroups !== 'supported') {
    await expect(runtime.sandboxes.createSandbox(sandbox, signal)).rejects.toBeDefined();
    return;
  }
  const sandboxId = await runtime.sandboxes.createSandbox(sandbox, signal);
  const command = ['sh', '-c', `${UNTIL_GO}; x=$(head -c 45000000 /dev/zero | tr "\\0" x); sleep 3600`];
  await using memory = await watchMemory(test);
  for (const name of ['one', 'two']) {
    const change = { owner, pod: POD, sandboxId, image: test.image, name, command, resources, group: 'pod' } as const;
    const id = await runtime.containers.createContainer(plainContainer(change), signal);
    await runtime.containers.startContainer(id, signal);
    await runtime.containers.exec(id, ['touch', '/go'], signal);
  }
  await memory.killed;
  const states = async () => (await runtime.observer.listPods({ cluster }, signal))[0]?.containers ?? [];
  await test.eventually(async () =>
    (await states()).some(({ state, endedBy }) => state === 'exited' && endedBy === 'oom'),
  );
  expect((await states()).find(({ state }) => state === 'exited')).toMatchObject({ exitCode: 137, endedBy: 'oom' });
  const all = [...(await states()).map(({ id }) => id), sandboxId];
  for (const id of all) await runtime.containers.removeContainer(id, signal);
  const grouped = { owner, uid: POD.uid };
  await test.eventually(() => runtime.podGroups.removePodGroup(grouped));
  expect(await runtime.podGroups.listPodGroups(owner)).toEqual([]);
});

it('measures how memory is used and CPU time is cut, and what passes the networks of pods', async () => {
  await using test = await dockerUnderTest('/sys/fs/cgroup');
  const { cluster, runtime, sandboxImage } = test;
  const { signal } = new AbortController();
  const owner = { cluster, node: 'node-a' };
  const network = {
    kind: 'pod' as const,
    name: test.network,
    address: test.addresses[0],
    nameServer: test.nameServer,
  };
  const { sandboxes, containers, stats } = runtime;
  const sandboxId = await sandboxes.createSandbox(
    plainSandbox({ owner, pod: POD, image: sandboxImage, network }),
    signal,
  );
  const spec = plainContainer({
    owner,
    pod: POD,
    sandboxId,
    image: test.image,
    command: ['sh', '-c', 'while :; do :; done'],
    resources: { cpuShares: 100, cpuQuotaMicros: 10_000, memoryBytes: 64 * 2 ** 20 },
  });
  const id = await containers.createContainer(spec, signal);
  await containers.startContainer(id, signal);

  await test.eventually(async () => {
    const { throttling } = (await stats.readStats([id], signal)).get(id) ?? {};
    return (throttling?.throttledPeriods ?? 0) > 1;
  });
  const found = (await stats.readStats([id], signal)).get(id);
  const { periods = 0, throttledPeriods = 0, throttledNanos = 0 } = found?.throttling ?? {};
  expect(periods).toBeGreaterThanOrEqual(throttledPeriods);
  expect(throttledNanos).toBeGreaterThan(1_000_000);
  const { rssBytes = 0, pageFaults = 0 } = found?.memory ?? {};
  expect(rssBytes).toBeGreaterThan(0);
  expect(rssBytes).toBeLessThanOrEqual(found?.memoryUsageBytes ?? 0);
  expect(pageFaults).toBeGreaterThan(0);

  const sent = async () => {
    const networks = await stats.readNetworks([sandboxId, 'f'.repeat(64)], signal);
    expect([...networks.keys()]).toEqual([sandboxId]);
    expect(networks.get(sandboxId)?.map(({ name }) => name)).toEqual(['eth0']);
    return networks.get(sandboxId)?.[0]?.sent.packets ?? 0;
  };
  const before = await sent();
  // No pod answers at this address. The question who has the address has left the pod.
  await containers.exec(id, ['ping', '-c', '1', '-W', '1', test.addresses[1]], signal);
  expect(await sent()).toBeGreaterThan(before);
  await sandboxes.stopSandbox(sandboxId, signal);
  expect((await stats.readNetworks([sandboxId], signal)).size).toBe(0);
});

it('a container that the kernel kills for its memory is found so, in whichever order the engine hears of its end and of the kill', async () => {
  await using test = await dockerUnderTest('/sys/fs/cgroup');
  const { cluster, runtime } = test;
  const { signal } = new AbortController();
  await using memory = await watchMemory(test);
  const owner = { cluster, node: 'node-a' };
  const image = test.sandboxImage;
  const sandboxId = await runtime.sandboxes.createSandbox(plainSandbox({ owner, pod: POD, image }), signal);
  const spec = plainContainer({
    owner,
    pod: POD,
    sandboxId,
    image: test.image,
    command: ['sh', '-c', `${UNTIL_GO}; exec tail /dev/zero`],
    resources: { memoryBytes: 64 * 1024 * 1024 },
  });
  const id = await runtime.containers.createContainer(spec, signal);
  await runtime.containers.startContainer(id, signal);
  await runtime.containers.exec(id, ['touch', '/go'], signal);
  await memory.killed;
  await test.eventually(async () => {
    const [pod] = await runtime.observer.listPods({ cluster }, signal);
    return pod?.containers[0]?.state === 'exited' && pod.containers[0].endedBy === 'oom';
  });
});

it('starts a program with almost as many variables as the kernel takes', async () => {
  await using test = await dockerUnderTest('/sys/fs/cgroup');
  const { cluster, runtime } = test;
  const { signal } = new AbortController();
  const owner = { cluster, node: 'node-a' };
  const image = test.sandboxImage;
  const sandboxId = await runtime.sandboxes.createSandbox(plainSandbox({ owner, pod: POD, image }), signal);
  const env = Array.from({ length: 18 }, (_, i) => ({ name: `A${i}`, value: '"'.repeat(100_000) }));
  const spec = plainContainer({ owner, pod: POD, sandboxId, image: test.image, env, command: ['sh', '-c', 'exit 7'] });
  const id = await runtime.containers.createContainer(spec, signal);
  await runtime.containers.startContainer(id, signal);
  await test.eventually(async () => {
    const [pod] = await runtime.observer.listPods({ cluster }, signal);
    return pod?.containers[0]?.exitCode === 7;
  });
});

it.each(['none', 'tty'] as const)(
  'a long line of a log has one time, and counts as one (terminal: %s)',
  async (terminal) => {
    const docker = new Docker({ socketPath: SOCKET });
    const runtime = connectDocker(SOCKET, () => 'no-sys-resource', systemClock, silent);
    const cluster = `lines-${randomBytes(4).toString('hex')}`;
    const { signal } = new AbortController();
    const owner = { cluster, node: 'node-a' };
    try {
      const image = 'registry.k8s.io/pause:3.10';
      const sandboxId = await runtime.sandboxes.createSandbox(plainSandbox({ owner, pod: POD, image }), signal);
      const long = 'head -c 40000 /dev/zero | tr "\\0" x';
      const script = `echo first; sleep 1.1; ${long}; echo; ${long}; echo; echo last`;
      const container = { owner, pod: POD, sandboxId, image: 'busybox:1.36', command: ['sh', '-c', script], terminal };
      const id = await runtime.containers.createContainer(plainContainer(container), signal);
      await runtime.containers.startContainer(id, signal);
      const read = async (change: Partial<LogOptions>) => {
        const parts: Uint8Array[] = [];
        const options = { follow: false, timestamps: true, ...change };
        for await (const part of runtime.logs.readLogs(id, options, signal)) parts.push(part);
        const text = Buffer.concat(parts).toString();
        const [from = ''] = /^\S+Z /m.exec(text) ?? [];
        return {
          since: Date.parse(from.trimEnd()),
          lines: text
            .replaceAll('\r', '')
            .replaceAll(/^\S+Z /gm, 'T ')
            .split('\n'),
        };
      };
      const x = 'x'.repeat(40_000);
      const all = ['T first', `T ${x}`, `T ${x}`, 'T last', ''];
      // Ends with the container.
      expect((await read({ follow: true })).lines).toEqual(all);
      expect((await read({})).lines).toEqual(all);
      expect((await read({ tailLines: 2 })).lines).toEqual(all.slice(-3));
      // The second line, which is more than a second later than the first one.
      const { since, lines } = await read({ tailLines: 3, follow: true });
      expect(lines).toEqual(all.slice(-4));
      expect((await read({ tailLines: 2, timestamps: false })).lines).toEqual([x, 'last', '']);
      expect((await read({ since: since - 500 })).lines).toEqual(all.slice(1));
    } finally {
      const ours = await docker.listContainers({ all: true, filters: { label: [`${LABEL}=${cluster}`] } });
      await Promise.all(ours.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
    }
  },
);

it('the engine says by a container what it may do, and a privileged one starts with just that', async () => {
  const docker = new Docker({ socketPath: SOCKET });
  const cluster = `privilege-${randomBytes(4).toString('hex')}`;
  const { signal } = new AbortController();
  const owner = { cluster, node: 'node-a' };
  const ours = () => docker.listContainers({ all: true, filters: { label: [`${LABEL}=${cluster}`] } });
  try {
    const probing = connectDocker(SOCKET, () => 'no-sys-resource', systemClock, silent);
    const privilege = await probing.engine.probe('registry.k8s.io/pause:3.10', owner, signal);
    expect(['full', 'no-sys-resource', 'sys-resource-unknown']).toContain(privilege);
    expect(await ours()).toEqual([]);
    const runtime = connectDocker(SOCKET, () => privilege, systemClock, silent);
    const image = 'registry.k8s.io/pause:3.10';
    const sandboxId = await runtime.sandboxes.createSandbox(plainSandbox({ owner, pod: POD, image }), signal);
    const spec = plainContainer({
      owner,
      pod: POD,
      sandboxId,
      image: 'busybox:1.36',
      command: ['sh', '-c', 'grep CapEff /proc/self/status; cat /proc/self/oom_score_adj'],
      oomScoreAdj: privilege === 'full' ? -997 : 0,
      security: { privilege: 'privileged' },
    });
    const id = await runtime.containers.createContainer(spec, signal);
    await runtime.containers.startContainer(id, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of runtime.logs.readLogs(id, { follow: true, timestamps: false }, signal))
      chunks.push(chunk);
    const [rights = '', score] = Buffer.concat(chunks).toString().trim().split('\n');
    const SYS_RESOURCE = 1n << 24n;
    const SYS_ADMIN = 1n << 21n;
    const effective = BigInt(`0x${rights.split(/\s+/)[1] ?? '0'}`);
    expect(effective & SYS_ADMIN).toBe(SYS_ADMIN);
    expect(effective & SYS_RESOURCE).toBe(privilege === 'full' ? SYS_RESOURCE : 0n);
    expect(Number(score)).toBe(privilege === 'full' ? -997 : 0);
  } finally {
    await Promise.all((await ours()).map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
  }
});
