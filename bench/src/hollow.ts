import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpClient, type HttpClient, ignoreReasons, readKubeconfig } from '@gantry/client';
import { type KubeObject, NAMESPACES, NODES, type Pod, PODS, SERVICE_ACCOUNTS } from '@gantry/objects';
import { deadline } from './cluster.ts';
import { judge } from './limits.ts';
import { cpuMs, endProcess, pssKib, rssMib } from './processes.ts';

const MAIN = 'services/agent/src/hollow-main.ts';
/** As `npm run hollow` has them: without a limit, garbage stays in memory as long as the machine has room. */
const HEAP = ['--max-semi-space-size=4', '--max-old-space-size=420'];
export const NAMESPACE = 'bench-hollow';
/** Kubernetes' own interval: with the agents' second, 1,000 nodes are 1,000 writes a second. */
const HEARTBEAT_SECONDS = 10;
export const PODS_A_NODE = 10;
const CREATES_AT_ONCE = 32;
const REST_MS = 60_000;
const LONGEST_MS = 900_000;
const POLL_MS = 500;
/** Of 1,000 nodes with 10,000 pods: resident, in bytes. */
const MOST_MEMORY = { nodes: 1_000, bytes: 500e6 };

/** One process that plays nodes with ten pods each: time until they run, its memory, and what it costs when nothing happens. */
export async function measureHollow(kubeconfig: string, nodes: number, print: (line: string) => void): Promise<void> {
  using api = createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'bench' });
  await withHollowNodes(api, { kubeconfig, nodes, print }, async (pid) => {
    const cpuBefore = cpuMs(pid);
    await createPods(api, nodes);
    const createdAt = performance.now();
    await untilRunning(api);
    const cpu = ((cpuMs(pid) - cpuBefore) / (nodes * PODS_A_NODE)).toFixed(1);
    const tookMs = performance.now() - createdAt;
    print(
      `- ${nodes * PODS_A_NODE} pods Running ${inSeconds(tookMs)} after the last was created; ${cpu} ms of CPU a pod`,
    );
    print(`- memory: ${memory(pid)}`);
    const loaded = rssMib(pid);
    const [atRest, written] = [cpuMs(pid), await writes(api)];
    await sleep(REST_MS);
    const share = ((cpuMs(pid) - atRest) / REST_MS) * 100;
    const perMinute = ((await writes(api)) - written) * (60_000 / REST_MS);
    print(
      `- at rest: ${share.toFixed(1)} % of one core, ${perMinute} writes a minute (a heartbeat every ${HEARTBEAT_SECONDS} s), ${memory(pid)}`,
    );
    if (nodes <= MOST_MEMORY.nodes) {
      const megabytes = (Math.max(loaded, rssMib(pid)) * 2 ** 20) / 1e6;
      print(judge('resident memory', megabytes, { atMost: MOST_MEMORY.bytes / 1e6 }, ' MB'));
    }
  });
}

interface HollowOptions {
  readonly kubeconfig: string;
  readonly nodes: number;
  readonly print: (line: string) => void;
}

/** Runs `work` while a process plays the nodes, once they have registered. Their objects stay. */
export async function withHollowNodes<T>(
  api: HttpClient,
  { kubeconfig, nodes, print }: HollowOptions,
  work: (pid: number) => Promise<T>,
): Promise<T> {
  const settings = ['--kubeconfig', kubeconfig, '--nodes', String(nodes), '--heartbeat', String(HEARTBEAT_SECONDS)];
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...HEAP, '--conditions=gantry-source', MAIN, ...settings], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await until(async () => (await api.list(NODES, {}, deadline())).items.filter(isHollow).length >= nodes);
    print(`- ${nodes} nodes registered after ${inSeconds(performance.now() - startedAt)}`);
    return await work(child.pid ?? 0);
  } finally {
    await endProcess(child);
  }
}

/** Whether an object is a node that `withHollowNodes` plays. */
export function isHollow({ metadata }: Pick<KubeObject, 'metadata'>): boolean {
  return /^hollow-\d+$/.test(metadata.name ?? '');
}

/** Waits until all pods of the namespace run. */
export async function untilRunning(api: HttpClient): Promise<void> {
  await until(async () => {
    const options = { namespace: NAMESPACE, fieldSelector: 'status.phase!=Running', limit: 1 };
    return (await api.list(PODS, options, deadline())).items.length === 0;
  });
}

/** Creates the namespace, and ten pods for each node. */
export async function createPods(api: HttpClient, nodes: number): Promise<void> {
  await api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, deadline());
  const metadata = { namespace: NAMESPACE, name: 'default' };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata } as const;
  // The development server makes one itself in each new namespace.
  await ignoreReasons(api.create(SERVICE_ACCOUNTS, account, deadline()), ['AlreadyExists']);
  let next = 0;
  const create = async () => {
    while (next < nodes * PODS_A_NODE) await api.create(PODS, pod(next++, nodes), deadline());
  };
  await Promise.all(Array.from({ length: CREATES_AT_ONCE }, create));
}

/** The pod with this number, for the node that it belongs to. */
export function pod(index: number, nodes: number): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: NAMESPACE, name: `pod-${index}` },
    spec: {
      nodeName: `hollow-${(index % nodes) + 1}`,
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'example.test/app:1' }],
    },
  };
}

/** Requests that change something, as the API server has counted them. */
async function writes(api: HttpClient): Promise<number> {
  const text = await api.raw({ method: 'GET', path: '/metrics' }, deadline());
  const lines = text.matchAll(/^apiserver_request_total\{([^}]*)\} (\d+)/gm);
  return [...lines]
    .filter(([, labels = '']) => /verb="(create|update|patch|apply|delete|deletecollection)"/.test(labels))
    .reduce((sum, [, , value]) => sum + Number(value), 0);
}

/** Asks again and again until it is so. */
export async function until(check: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + LONGEST_MS;
  while (!(await check())) {
    if (performance.now() > endsAt) throw new Error(`not within ${inSeconds(LONGEST_MS)}`);
    await sleep(POLL_MS);
  }
}

function memory(pid: number): string {
  return `${Math.round(rssMib(pid))} MiB resident, ${Math.round(pssKib(pid) / 1024)} MiB proportional`;
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
