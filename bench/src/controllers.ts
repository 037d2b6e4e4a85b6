import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { type Deployment, DEPLOYMENTS, NAMESPACES, type Pod, PODS } from '@gantry/objects';
import { deadline, untilObject } from './cluster.ts';
import { cpuMs, endProcess, pssKib, rssMib, sumOf } from './processes.ts';

const MAIN = 'services/controller-manager/src/testing/dev-controllers.ts';
const NAMESPACE = 'bench-controllers';
/** Pods of one Deployment. */
const SIZE = 1000;
/** Status updates under way at once. */
const KUBELETS = 16;
const LONGEST_MS = 1_800_000;
/** Of how many controllers the reconciles are shown. */
const SHOWN = 8;
/** CPU time in a second of a process that does nothing. */
const RESTING_MS = 30;

export interface ControllersOptions {
  readonly pods: number;
  /** Port for gRPC, which the controllers speak in a cluster; without it they speak REST. */
  readonly grpcPort: number | undefined;
  /** Folder for a CPU profile of the controllers. */
  readonly profileDir: string | undefined;
}

/**
 * All controllers in a process of their own, and Deployments of 1,000 pods each: time until the pods exist, and what their whole way
 * costs the controllers. Pods run nowhere; this process writes the status that a kubelet would.
 */
export async function measureControllers(
  kubeconfig: string,
  { pods, grpcPort, profileDir }: ControllersOptions,
): Promise<string[]> {
  const api = createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'bench' });
  const child = spawnControllers({ kubeconfig, grpcPort, profileDir });
  const pid = child.pid ?? 0;
  const output = createInterface(child.stdout);
  try {
    await lineWith(output, 'controllers start');
    await api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, deadline());
    await untilAtRest([pid]);
    const before = cpuMs(pid);
    const lines = [];
    const ready = keepReady(api, pods);
    for (let made = 0; made < pods; made += SIZE) {
      const startedAt = performance.now();
      await api.create(DEPLOYMENTS, deployment(`web-${made}`, Math.min(SIZE, pods - made)), deadline());
      await untilDeployment(api, `web-${made}`, ({ status }) => status?.replicas === Math.min(SIZE, pods - made));
      if (made === 0)
        lines.push(`- a Deployment to ${Math.min(SIZE, pods)} pods: ${inSeconds(performance.now() - startedAt)}`);
      await untilDeployment(api, `web-${made}`, ({ spec, status }) => status?.availableReplicas === spec?.replicas);
    }
    await ready;
    const spent = cpuMs(pid) - before;
    const memory = `${Math.round(rssMib(pid))} MiB resident, ${Math.round(pssKib(pid) / 1024)} MiB proportional`;
    lines.push(`- ${pods} pods: ${(spent / pods).toFixed(2)} ms of CPU a pod, ${memory}`);
    const ended = lineWith(output, 'controllers ended');
    child.kill('SIGTERM');
    return [...lines, `- reconciles: ${mostReconciles(await ended)}`];
  } finally {
    await endProcess(child);
    api[Symbol.dispose]();
  }
}

/** The next line of the controllers' log with this message. */
function lineWith(output: Interface, message: string): Promise<string> {
  return new Promise((resolve, reject) => {
    output.on('line', (line) => {
      if (line.includes(`"${message}"`)) resolve(line);
    });
    output.on('close', () => reject(new Error(`the controllers ended without the line "${message}"`)));
  });
}

/** The controllers with the most reconciles, their start included, and those of all. */
function mostReconciles(line: string): string {
  const { reconciles } = JSON.parse(line) as { reconciles: Record<string, number> };
  const counts = Object.entries(reconciles).sort(([, one], [, other]) => other - one);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  return [...counts.slice(0, SHOWN), ['all', all]].map(([name, count]) => `${name} ${count}`).join(', ');
}

/** Starts all controllers in a process of their own, which logs to its standard output. */
export function spawnControllers({
  kubeconfig,
  grpcPort,
  profileDir,
}: { readonly kubeconfig: string } & Omit<ControllersOptions, 'pods'>): ChildProcessByStdio<null, Readable, null> {
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const target = [kubeconfig, ...(grpcPort === undefined ? [] : [String(grpcPort)])];
  return spawn(process.execPath, ['--conditions=gantry-source', ...profiling, MAIN, ...target], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Waits until processes that have started do nothing but what they do all the time: their start is no part of what pods cost. */
export async function untilAtRest(pids: readonly number[]): Promise<void> {
  const used = () => sumOf(pids.map(cpuMs));
  for (let before = -Infinity, now = used(); now - before > RESTING_MS * pids.length; now = used()) {
    before = now;
    await sleep(1000);
  }
}

/** Makes pods Running and ready, as kubelets do, until there are so many. */
async function keepReady(api: HttpClient, pods: number): Promise<void> {
  const waiting: Pod[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, deadline(LONGEST_MS)]);
  const work = new Set<Promise<void>>();
  let done = 0;
  const startMore = (): void => {
    for (let pod = waiting.shift(); pod !== undefined; pod = work.size < KUBELETS ? waiting.shift() : undefined) {
      const task = report(api, pod).then(() => {
        work.delete(task);
        done += 1;
        if (done === pods) stop.abort();
        else startMore();
      });
      work.add(task);
    }
  };
  try {
    for await (const events of api.watch(PODS, { namespace: NAMESPACE, sendInitialEvents: true }, signal)) {
      for (const event of events) if (event.type === 'ADDED') waiting.push(event.object);
      if (work.size < KUBELETS) startMore();
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

async function report(api: HttpClient, { metadata: { name = '' } }: Pod): Promise<void> {
  const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'True' }));
  const strategic = { status: { phase: 'Running', conditions } };
  await api.patch(PODS, { namespace: NAMESPACE, name }, { strategic, subresource: 'status' }, deadline());
}

function untilDeployment(api: HttpClient, name: string, wanted: (object: Deployment) => boolean): Promise<unknown> {
  const isMeant = (object: Deployment): boolean => object.metadata.name === name && wanted(object);
  return untilObject(api, DEPLOYMENTS, NAMESPACE, LONGEST_MS, isMeant);
}

function deployment(name: string, replicas: number): Deployment {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example.org/app:1' }] } },
    },
  };
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
