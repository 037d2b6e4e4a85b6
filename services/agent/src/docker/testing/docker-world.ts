import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@gantry/base';
import { FakeObjectClient } from '@gantry/client/testing';
import Docker from 'dockerode';
import { expect, onTestFinished } from 'vitest';
import { connectDocker } from '../docker-runtime.ts';
import { linuxMounts } from '../../mounts/linux-mounts.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type AssembledNode, assembleNode, type NodeHost } from '../../testing/assemble-node.ts';
import type { CrashWorld } from '../../testing/crash-matrix.ts';
import type { MortalCalls } from '../../testing/mortal-agent.ts';
import { mortalEngine } from '../../testing/mortal-engine.ts';
import { nodeOf } from '../../testing/pods.ts';
import { createTestNetwork } from './test-network.ts';

const SOCKET = '/var/run/docker.sock';
const LABEL = 'gantry.cluster';
const PAUSE = 'registry.k8s.io/pause:3.10';
/** The number of parts of the network that nodes use in turn. */
const RANGES = 16;

const connect = (socketPath: string) =>
  connectDocker(
    socketPath,
    () => 'no-sys-resource',
    systemClock,
    () => undefined,
  );

/** A node on the engine, with the parts that its agent's successor needs. */
interface DockerNode extends AssembledNode {
  readonly host: NodeHost;
}

/** Runs nodes on this machine's engine, with a network and a folder for mounts. Both are removed at the end of the test. Needs root. */
export async function dockerWorld(): Promise<CrashWorld<DockerNode>> {
  const docker = new Docker({ socketPath: SOCKET });
  const run = `crash-${randomBytes(4).toString('hex')}`;
  const { network, address } = await createTestNetwork(docker, { name: run, labels: { [LABEL]: run } });
  // The folder is below the engine's folder, whose mounts are shared.
  await docker.createVolume({ Name: run, Labels: { [LABEL]: run } });
  const volume = await docker.getVolume(run).inspect();
  /** Returns the containers of one cluster, or of all clusters with a common prefix. */
  const containers = async (isOurs: (cluster: string) => boolean) =>
    (await docker.listContainers({ all: true, filters: { label: [LABEL] } })).filter(({ Labels: labels }) =>
      isOurs(labels[LABEL] ?? ''),
    );
  onTestFinished(async () => {
    const left = await containers((cluster) => cluster.startsWith(run));
    await Promise.all(left.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
    await network.remove();
    await linuxMounts().remove(volume.Mountpoint);
    await docker.getVolume(run).remove();
  });
  // This process is in the host's namespaces. It enters the host's mount namespace like an agent in a container.
  const shared = { path: volume.Mountpoint, hostPath: volume.Mountpoint };
  const onHost = {
    findNetwork: async () => '/proc/self/ns/net',
    mounts: { find: async () => '/proc/self/ns/mnt', shared },
  };
  const direct = connect(SOCKET);
  const engine = await direct.engine.info(new AbortController().signal);
  let started = 0;
  const begin = (host: NodeHost): DockerNode => ({ ...assembleNode(host), host });
  return {
    start: async (name, calls) => {
      const path = join(volume.Mountpoint, name);
      await mkdir(path);
      started += 1;
      const { runtime, client, api } = await mortalWays(calls);
      return begin({
        owner: { cluster: `${run}-${name}`, node: 'n' },
        clock: systemClock,
        api,
        client,
        runtime,
        observer: runtime.observer,
        mounts: linuxMounts(onHost),
        path,
        root: '/',
        node: () => nodeOf('n'),
        engine,
        privilege: 'no-sys-resource',
        sandboxImage: PAUSE,
        podNetwork: run,
        podCidr: `${address((started % RANGES) * (256 / RANGES))}/28`,
        parallelCalls: 2,
        pressures: () => [],
      });
    },
    restart: async ({ host }) => {
      const runtime = connect(SOCKET);
      return begin({ ...host, client: host.api, runtime, observer: runtime.observer });
    },
    soon: (_node, read) => expect.poll(read, { interval: 100, timeout: 120_000 }),
    look: async ({ owner }) => {
      const { signal } = new AbortController();
      const [state] = await connect(SOCKET).observer.listPods(owner, signal);
      return state;
    },
    traces: async ({ owner, path }) => {
      const left = await containers((cluster) => cluster === owner.cluster);
      const table = await readFile('/proc/self/mountinfo', 'utf8');
      // The memory for Secrets belongs to the node.
      const mounts = table
        .split('\n')
        .filter((line) => line.includes(`${path}/pods`) || line.includes(`${path}/binds`));
      return [...left.map(({ Names: names }) => names.join()), ...mounts];
    },
    hostFolder: ({ path }) => join(path, 'host'),
    image: 'busybox:1.36',
    parallel: 4,
  };
}

/** Returns the connections of an agent to its engine and its API server. They work until it dies. */
async function mortalWays(
  calls: MortalCalls,
): Promise<Pick<NodeHost, 'api' | 'client'> & { readonly runtime: Runtime }> {
  const way = await mortalEngine(SOCKET, calls);
  onTestFinished(() => way[Symbol.asyncDispose]());
  const api = new FakeObjectClient(systemClock);
  return { api, client: calls.wrap(api), runtime: calls.wrap(connect(way.socketPath)) };
}
