import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '@gantry/base';
import { createHttpClient, type HttpClient, ignoreReasons, type ObjectWrite } from '@gantry/client';
import { type KubeObject, NODES, type ObjectKey, PODS, type Resource } from '@gantry/objects';
import { DecisionLoop } from '@gantry/scheduler/testing';
import { deadline } from '../cluster.ts';
import { cpuMs, endProcess, sumOf } from '../processes.ts';
import { type DevServer, startDevServer } from '../speed/dev-server.ts';
import { grpcClient } from '../speed/grpc-endpoint.ts';
import { HIGH_PRIORITY } from './templates.ts';

/** Where a workload's objects go, and how its pods get nodes. */
export interface SchedulerTarget extends AsyncDisposable {
  /** Creates objects of one resource. */
  create(resource: Resource, objects: readonly KubeObject[]): Promise<void>;
  /** Deletes an object. Nothing happens when there is none. */
  delete(resource: Resource, key: ObjectKey): Promise<void>;
  /** Resolves when so many pods of a namespace have been bound since the start. */
  untilBound(namespace: string, count: number): Promise<void>;
  /** CPU time of each process so far, in milliseconds. */
  cpu(): Readonly<Record<'scheduler' | 'apiserver' | 'etcd', number>>;
}

/** Objects that one call creates. */
const CREATED_AT_ONCE = 100;
/** Calls under way at once. */
const CALLS = 4;
const LONGEST_MS = 600_000;
const MAIN = 'services/scheduler/src/testing/dev-scheduler.ts';

/** The scheduler's decisions in this process, without an API. Its CPU time includes the creation of the objects. */
export function directTarget(): SchedulerTarget {
  const loop = new DecisionLoop(systemClock);
  return {
    create: async (resource, objects) => {
      for (const part of inParts(objects)) {
        loop.create(resource, resource === PODS ? part.map(withPriority) : part);
        await turn();
      }
    },
    delete: async (resource, key) => loop.delete(resource, key),
    untilBound: (namespace, count) => loop.untilBound(namespace, count),
    cpu: () => ({ scheduler: sumOf(Object.values(process.cpuUsage())) / 1000, apiserver: 0, etcd: 0 }),
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
}

/** As the admission of an API server does. */
function withPriority(pod: KubeObject & { spec?: { priorityClassName?: string } }): KubeObject {
  if (pod.spec?.priorityClassName !== HIGH_PRIORITY.name) return pod;
  return { ...pod, spec: { ...pod.spec, priority: HIGH_PRIORITY.value } } as KubeObject;
}

export interface ApiTargetOptions {
  readonly etcdMembers: number;
  /** Folder for profiles of the API server and of our scheduler. */
  readonly profileDir: string | undefined;
  /** A kube-scheduler that schedules instead of ours. */
  readonly program?: string;
}

/** An API server over its own etcd, and a scheduler. */
export async function apiTarget({ etcdMembers, profileDir, program }: ApiTargetOptions): Promise<SchedulerTarget> {
  const dev = await startDevServer({ profileDir, etcdMembers });
  const { target, grpcPort, grpcAddresses, parts } = dev.server;
  const child = program === undefined ? spawnScheduler(dev, profileDir) : startKubeScheduler(dev, program);
  const client = grpcClient(target, grpcPort, grpcAddresses);
  const rest = createHttpClient({ ...target, fieldManager: 'bench' });
  const bound = new BoundPods(rest);
  const batch = async (writes: readonly ObjectWrite[]): Promise<void> => {
    for (const result of await client.batch(writes, deadline(LONGEST_MS)))
      if (!result.ok) throw new Error(`not created: ${result.status.message}`);
  };
  return {
    create: async (resource, objects) => {
      await inTurns(inParts(objects), (part) =>
        batch(part.map((object) => ({ verb: 'create', resource, namespace: object.metadata.namespace ?? '', object }))),
      );
      if (resource === NODES) await inTurns(inParts(objects), (part) => batch(part.map(withOwnTaints)));
    },
    delete: async (resource, key) => {
      await ignoreReasons(client.delete(resource, key, { gracePeriodSeconds: 0 }, deadline()), ['NotFound']);
    },
    untilBound: (namespace, count) => bound.until(namespace, count),
    cpu: () => ({
      scheduler: cpuMs(child.pid ?? 0),
      apiserver: sumOf(parts.apiserver.pids.map(cpuMs)),
      etcd: sumOf(parts.etcd.pids.map(cpuMs)),
    }),
    [Symbol.asyncDispose]: async () => {
      await bound[Symbol.asyncDispose]();
      await endProcess(child);
      client[Symbol.dispose]();
      rest[Symbol.dispose]();
      await dev[Symbol.asyncDispose]();
    },
  };
}

/** Starts our scheduler in a process of its own. */
export function spawnScheduler({ kubeconfig, server }: DevServer, profileDir: string | undefined): ChildProcess {
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const args = ['--max-semi-space-size=16', '--conditions=gantry-source', ...profiling, MAIN];
  return spawn(process.execPath, [...args, kubeconfig, String(server.grpcPort)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** With the request rate of scheduler_perf: the default of 50 requests a second would be what is measured. */
function startKubeScheduler({ kubeconfig }: DevServer, program: string): ChildProcess {
  const config = `${kubeconfig}-scheduler.json`;
  const text = {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig, qps: 5000, burst: 5000 },
    leaderElection: { leaderElect: false },
  };
  writeFileSync(config, JSON.stringify(text));
  return spawn(program, [`--config=${config}`, '--secure-port=0', '--v=0'], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Admission gives a new node the taint of one that is not ready. */
function withOwnTaints({ metadata, spec }: KubeObject & { spec?: { taints?: unknown } }): ObjectWrite {
  const patch = { spec: { taints: spec?.taints ?? [] } };
  const key = { namespace: '', name: metadata.name ?? '' };
  return { verb: 'patch', resource: NODES, key, patch, patchType: 'application/merge-patch+json' };
}

/** Counts the pods that have a node, by a watch of their metadata. */
class BoundPods implements AsyncDisposable {
  readonly #counts = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  #changed = Promise.withResolvers<void>();

  constructor(api: HttpClient) {
    this.#watching = this.#watch(api);
    // `until` rejects with its failure.
    this.#watching.catch(() => undefined);
  }

  async until(namespace: string, count: number): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(), LONGEST_MS);
    try {
      while ((this.#counts.get(namespace) ?? 0) < count) {
        this.#changed = Promise.withResolvers<void>();
        await Promise.race([this.#changed.promise, this.#watching]);
        if (this.#stop.signal.aborted)
          throw new Error(`${this.#counts.get(namespace) ?? 0} of ${count} pods were bound in ${LONGEST_MS / 1000} s`);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(api: HttpClient): Promise<void> {
    const options = { fieldSelector: 'spec.nodeName!=', metadataOnly: true, sendInitialEvents: true };
    try {
      for await (const events of api.watch(PODS, options, this.#stop.signal)) {
        for (const event of events) {
          if (event.type !== 'ADDED') continue;
          const { namespace = '' } = event.object.metadata;
          this.#counts.set(namespace, (this.#counts.get(namespace) ?? 0) + 1);
        }
        this.#changed.resolve();
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }
}

function inParts<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / CREATED_AT_ONCE);
  return Array.from({ length: count }, (_, i) => all.slice(i * CREATED_AT_ONCE, (i + 1) * CREATED_AT_ONCE));
}

async function inTurns<T>(all: readonly T[], step: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const work = async () => {
    for (const one of left) await step(one);
  };
  await Promise.all(Array.from({ length: CALLS }, work));
}
