import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { systemClock } from '@gantry/base';
import Docker from 'dockerode';
import { expect, it, onTestFinished } from 'vitest';
import type { NameServer, SandboxSpec } from '../runtime/sandboxes.ts';
import { connectDocker } from './docker-runtime.ts';
import { sandboxOptions } from './options/sandbox-options.ts';
import { findPodBridge, type PodBridge } from './pod-bridge.ts';
import { connectCommands, portName } from './pod-links.ts';
import { createTestNetwork } from './testing/test-network.ts';

const silent = () => undefined;

const run = promisify(execFile);
const docker = new Docker({ socketPath: '/var/run/docker.sock' });
const runtime = connectDocker('/var/run/docker.sock', () => 'no-sys-resource', systemClock, silent);
const { signal } = new AbortController();
const IMAGE = 'busybox:1.36';
const MTU = 1380;

/** Creates the test's own network. It is removed with everything on it at the end of the test. */
async function podNetwork() {
  const cluster = `links-${randomBytes(4).toString('hex')}`;
  const { network, address } = await createTestNetwork(docker, {
    name: cluster,
    engineBits: 26,
    driver: { 'com.docker.network.driver.mtu': String(MTU) },
  });
  onTestFinished(async () => {
    const left = await docker.listContainers({ all: true, filters: { label: [`gantry.cluster=${cluster}`] } });
    await Promise.all(left.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
    await network.remove();
  });
  const bridge = await findPodBridge(await network.inspect());
  if (bridge === undefined) throw new Error('the bridge was not found');
  const sandbox = (uid: string, last: number, nameServer: NameServer = 'network', attempt = 0): SandboxSpec => ({
    owner: { cluster, node: 'n' },
    pod: { uid, namespace: 'default', name: uid },
    attempt,
    // The image has a shell, because the test compares what its processes see.
    image: IMAGE,
    imageLabels: [],
    ipc: 'own',
    seccomp: 'own',
    hostname: uid,
    network: { kind: 'pod', name: cluster, address: address(last), nameServer },
    hostAliases: [],
    dns: { servers: [], searches: [], options: [] },
    sysctls: {},
    oomScoreAdj: 0,
    graceSeconds: 0,
  });
  const list = async (podUid: string) => (await runtime.observer.listPods({ cluster, podUid }, signal))[0]?.sandboxes;
  return { cluster, bridge, address, sandbox, list };
}

/** Creates a sandbox that the engine has started and no agent has connected. */
async function unconnected(spec: SandboxSpec, bridge: PodBridge): Promise<number> {
  const options = { ...sandboxOptions(spec, bridge), Cmd: ['sleep', '3600'], OpenStdin: true };
  const container = await docker.createContainer(options);
  await container.start();
  return (await container.inspect()).State.Pid;
}

async function inNamespace(pid: number, ...command: string[]): Promise<string> {
  return (await run('nsenter', [`--net=/proc/${pid}/ns/net`, '--', ...command])).stdout;
}

async function portsOf({ name }: PodBridge): Promise<string> {
  return (await run('ip', ['-o', 'link', 'show', 'master', name])).stdout;
}

it('a sandbox that the agent connects has the network that the engine would have made', async () => {
  const { cluster, sandbox, address } = await podNetwork();
  const [ours, engines] = [sandbox('ours', 130), sandbox('engines', 131, 'engine')];
  const pause = 'registry.k8s.io/pause:3.10';
  const seen = async (spec: SandboxSpec, last: number) => {
    const id = await runtime.sandboxes.createSandbox({ ...spec, image: pause }, signal);
    const { State: state } = await docker.getContainer(id).inspect();
    // Link addresses, and IPv6 on the loopback interface, differ between engines.
    const plain =
      's/^[0-9]*: //; s/@if[0-9]*//g; s/ link-netnsid .*//; s/ qlen [0-9]*//; s/ether [0-9a-f:]*//; s/  *//g';
    const script = [
      `ip -4 -o address show | sed "${plain}"`,
      `ip -o link show | sed "${plain}"`,
      'ip route',
      'cd /proc/sys/net',
      'grep "" ipv6/conf/eth0/disable_ipv6 ipv4/ip_unprivileged_port_start ipv4/ping_group_range ipv4/conf/eth0/forwarding',
    ].join('; ');
    const network = (await inNamespace(state.Pid, 'sh', '-c', script)).replaceAll(address(last), 'ADDRESS');
    return { id, network };
  };
  const first = await seen(ours, 130);
  const second = await seen(engines, 131);
  expect(first.network).toContain(`mtu${MTU}`);
  expect(first.network).toBe(second.network);
  const main = await docker.createContainer({
    Image: IMAGE,
    Labels: { 'gantry.cluster': cluster },
    Cmd: ['sh', '-c', `ping -c 1 -W 60 ${address(1)} && ping -c 1 -W 60 ${address(131)} && hostname`],
    HostConfig: { NetworkMode: `container:${first.id}` },
  });
  await main.start();
  expect(await main.wait()).toMatchObject({ StatusCode: 0 });
});

it('a sandbox denies system calls by its own seccomp profile, where the engine has another', async () => {
  const { bridge, sandbox } = await podNetwork();
  const exitCodeOn = async (spec: SandboxSpec) => {
    const options = { ...sandboxOptions(spec, bridge), Cmd: ['linux64', 'true'] };
    const container = await docker.createContainer(options);
    await container.start();
    return ((await container.wait()) as { StatusCode: number }).StatusCode;
  };
  // personality(2), which Docker's profile allows.
  expect(await exitCodeOn({ ...sandbox('engines', 160), seccomp: 'engine-default' })).toBe(0);
  expect(await exitCodeOn(sandbox('ours', 161))).toBe(1);
});

it('a sandbox whose agent was killed while it connected it does not run, and its address is free when it is removed', async () => {
  const { bridge, sandbox, list, address } = await podNetwork();
  const spec = sandbox('pod', 140);
  const { inPod, onHost } = connectCommands(bridge, address(140));
  const pid = await unconnected(spec, bridge);
  for (const command of inPod) {
    expect(await list('pod')).toMatchObject([{ attempt: 0, state: 'created', address: '' }]);
    await inNamespace(pid, 'ip', ...command.split(' '));
  }
  expect(await list('pod')).toMatchObject([{ attempt: 0, state: 'created', address: '' }]);
  // It fails until the next agent has removed the old one.
  const next = { ...sandbox('next', 140), image: 'registry.k8s.io/pause:3.10' };
  await expect(runtime.sandboxes.createSandbox(next, signal)).rejects.toMatchObject({ code: 'AddressInUse' });
  await run('ip', onHost.split(' '));
  expect(await list('pod')).toMatchObject([{ attempt: 0, state: 'running', address: address(140) }]);

  const half = await unconnected(sandbox('half', 141), bridge);
  const commands = connectCommands(bridge, address(141));
  for (const command of commands.inPod) await inNamespace(half, 'ip', ...command.split(' '));
  const [left] = (await list('half')) ?? [];
  await runtime.sandboxes.removeSandbox(left?.id ?? '', signal);
  const links = async () => (await run('ip', ['-o', 'link', 'show'])).stdout;
  await expect.poll(links).not.toContain(portName(address(141)));
  const id = await runtime.sandboxes.createSandbox({ ...next, network: sandbox('next', 141).network }, signal);
  expect(await list('next')).toMatchObject([{ id, state: 'running', address: address(141) }]);
});

it('a sandbox that was taken off its bridge does not run any more', async () => {
  const { bridge, sandbox, list, address } = await podNetwork();
  const spec = { ...sandbox('pod', 150), image: 'registry.k8s.io/pause:3.10' };
  await runtime.sandboxes.createSandbox(spec, signal);
  expect(await portsOf(bridge)).toContain(portName(address(150)));
  await run('ip', ['link', 'set', portName(address(150)), 'nomaster']);
  // The state as an agent sees it that has just started.
  const restarted = connectDocker('/var/run/docker.sock', () => 'no-sys-resource', systemClock, silent);
  const [state] = await restarted.observer.listPods({ cluster: spec.owner.cluster }, signal);
  expect(state?.sandboxes).toMatchObject([{ state: 'created', address: '' }]);
  expect(await list('pod')).toHaveLength(1);
});

it('the port of a pod is gone with its sandbox', async () => {
  const { bridge, sandbox, address } = await podNetwork();
  const id = await runtime.sandboxes.createSandbox(
    { ...sandbox('pod', 160), image: 'registry.k8s.io/pause:3.10' },
    signal,
  );
  expect(await portsOf(bridge)).toContain(portName(address(160)));
  await runtime.sandboxes.removeSandbox(id, signal);
  await expect.poll(() => portsOf(bridge)).not.toContain(portName(address(160)));
});

it('of two sandboxes that start with one address at once, one is refused and removed', async () => {
  const { sandbox, list, address } = await podNetwork();
  const create = (name: string) =>
    runtime.sandboxes.createSandbox({ ...sandbox(name, 180), image: 'registry.k8s.io/pause:3.10' }, signal);
  const results = await Promise.allSettled([create('one'), create('other')]);
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused).toMatchObject([{ reason: { code: 'AddressInUse' } }]);
  const states = [...((await list('one')) ?? []), ...((await list('other')) ?? [])];
  expect(states).toMatchObject([{ state: 'running', address: address(180) }]);
});

it('an address that another pod of the host has costs no sandbox', async () => {
  const { sandbox } = await podNetwork();
  const requests: string[] = [];
  const observed = connectDocker('/var/run/docker.sock', () => 'no-sys-resource', systemClock, silent, {
    observe: (request) => requests.push(request),
  });
  const image = 'registry.k8s.io/pause:3.10';
  await runtime.sandboxes.createSandbox({ ...sandbox('one', 190), image }, signal);
  const second = observed.sandboxes.createSandbox({ ...sandbox('other', 190), image }, signal);
  await expect(second).rejects.toMatchObject({ code: 'AddressInUse' });
  expect(requests.filter((request) => request.startsWith('POST'))).toEqual([]);
  expect(requests).not.toEqual([]);
});

it('an address that the engine had assigned to a container of the network is refused', async () => {
  const { sandbox, list } = await podNetwork();
  const pause = 'registry.k8s.io/pause:3.10';
  // The state as agents of earlier versions left it.
  await runtime.sandboxes.createSandbox({ ...sandbox('engines', 170, 'engine'), image: pause }, signal);
  const started = connectDocker('/var/run/docker.sock', () => 'no-sys-resource', systemClock, silent);
  const create = started.sandboxes.createSandbox({ ...sandbox('ours', 170), image: pause }, signal);
  await expect(create).rejects.toMatchObject({ code: 'AddressInUse' });
  expect(await list('ours')).toBeUndefined();
});
