import type { NodeResolver } from '../spec/dns.ts';
import type { Container, ContainerStatus, Node, Pod, PodSpec, PodStatus } from '@gantry/objects';
import type { NodeFacts } from '../spec/field-values.ts';
import { resourceLimits } from '../spec/resources.ts';
import { containerHash } from '../spec/pod-containers.ts';
import type { ContainerState } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';

/** Pods and the states that an engine reports of them, for tests. */
export const NOW = Date.parse('2026-01-01T00:10:00Z');

/** An engine with every feature that agents need. */
export const ENGINE: EngineInfo = {
  id: 'engine',
  name: 'host',
  version: '28.0.0',
  cpus: 8,
  memoryBytes: 2 ** 34,
  kernel: '6.1.0-13-amd64',
  os: 'Debian',
  architecture: 'x86_64',
  appArmor: 'enabled',
  seccomp: 'default-profile',
  recursiveReadOnly: 'supported',
  podGroups: 'supported',
  runtimes: ['runc'],
};

/** A Node with much room. */
export function nodeOf(
  name: string,
  allocatable: Readonly<Record<string, string>> = {},
  change: Partial<Node> = {},
): Node {
  const room = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '64Gi', pods: '110', ...allocatable };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { allocatable: room }, ...change };
}

/** The facts of a small node on a large host: pods may request one GiB of its two. */
export function nodeFacts(cpuMillis: number, change: Partial<NodeFacts> = {}): NodeFacts {
  const amounts = { cpuMillis, memoryBytes: 2 ** 30, storageBytes: 2 ** 34 };
  return {
    nodeName: 'n',
    nodeAddress: 'h',
    hostMemoryBytes: 2 ** 40,
    capacity: () => ({ ...amounts, memoryBytes: 2 ** 31 }),
    allocatable: () => amounts,
    ...change,
  };
}

export function container(name = 'main', change: Partial<Container> = {}): Container {
  return { name, image: 'nginx:1.27', ...change };
}

export function pod(spec: Partial<PodSpec> = {}, status: PodStatus = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', resourceVersion: '1', ...metadata },
    spec: {
      containers: [container()],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      nodeName: 'node-a',
      ...spec,
    },
    status,
  };
}

export function sandbox(change: Partial<SandboxState> = {}): SandboxState {
  const common = { id: 'sandbox-0', attempt: 0, group: 'engine', createdAt: NOW - 60_000 } as const;
  return { ...common, state: 'running', address: '10.0.0.9', ...change };
}

export function running(change: Partial<ContainerState> = {}): ContainerState {
  const name = change.name ?? 'main';
  const attempt = change.attempt ?? 0;
  return {
    id: `${name}-${attempt}`,
    name,
    attempt,
    sandboxId: 'sandbox-0',
    hash: containerHash(container(name)),
    image: 'nginx:1.27',
    imageId: 'sha256:1',
    state: 'running',
    createdAt: NOW - 60_000,
    startedAt: NOW - 60_000,
    restartDelayMs: 0,
    resources: resourceLimits(pod(), container(name)),
    ...change,
  };
}

export function exited(exitCode: number, change: Partial<ContainerState> = {}): ContainerState {
  return running({ state: 'exited', exitCode, finishedAt: NOW - 1_000, ...change });
}

export function podState(sandboxes: readonly SandboxState[], containers: readonly ContainerState[]): PodState {
  return {
    owner: { cluster: 'test', node: 'node-a' },
    identity: { uid: 'uid-1', namespace: 'default', name: 'web' },
    graceSeconds: 30,
    sandboxes,
    containers,
    imageHolds: [],
  };
}

export function reportedStatus(change: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: 'main', image: 'nginx:1.27', imageID: 'sha256:1', ready: true, restartCount: 0, ...change };
}

/** The name settings of a node with the default Service range. */
export const RESOLVER: NodeResolver = {
  clusterServer: '10.96.0.10',
  engine: { servers: ['127.0.0.11'], searches: ['example.com'], options: ['ndots:0'] },
};
