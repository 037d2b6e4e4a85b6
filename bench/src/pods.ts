import { type Pod, PODS } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster, podKey } from './cluster.ts';
import { localEngine } from './engine.ts';
import { addCalls, type Calls, callTable, engineCalls } from './engine-calls.ts';
import { judge } from './limits.ts';
import { judgeRestarts, partNamed, servicesOf, startMeter } from './parts.ts';
import { docker, serviceContainers } from './processes.ts';
import { quantile } from './statistics.ts';

/** Pods at once, and how often. Rounds of the cluster and of the engine alone alternate. */
const LOADS = [
  { pods: 1, rounds: 10 },
  { pods: 10, rounds: 3 },
  { pods: 50, rounds: 1 },
];
const IMAGE = 'busybox:1.36';
const PAUSE = 'registry.k8s.io/pause:3.10';
/** Ends at once with its stop signal: what is measured is not its grace period. */
const COMMAND = ['sh', '-c', 'trap "exit 0" TERM; sleep 3600 & wait'];
const GRACE_SECONDS = 5;
const ROUND_MS = 180_000;

/** Milliseconds from the beginning of a round, one value for each pod. */
interface Round {
  readonly started: readonly number[];
  readonly removed: readonly number[];
}

const HEADING = [
  '| pods at once | POST to Running p50 / p99 | the engine alone | DELETE to gone p50 / p99 | the engine alone | CPU a pod: agents, API servers, etcd |',
  '| --- | --- | --- | --- | --- | --- |',
];

/** Pods from POST to Running and from DELETE to gone, and the engine's time for the same two containers, in turns. */
export async function measurePods(cluster: MeasuredCluster, print: (line: string) => void): Promise<void> {
  for (const line of HEADING) print(line);
  const services = servicesOf(cluster.project);
  const agents = serviceContainers(cluster.project).filter(({ service }) => service === 'agent');
  const network = `${cluster.project}-pods`;
  let calls: Calls = new Map();
  let total = 0;
  const used = startMeter(services);
  const verdicts: string[] = [];
  await inNamespace(cluster.api, `bench-pods-${process.pid}`, async (namespace) => {
    await clusterRound(cluster, namespace, 1);
    for (const { pods, rounds } of LOADS) {
      const ours: Round[] = [];
      const alone: Round[] = [];
      const cpu = { agent: 0, apiserver: 0, etcd: 0 };
      for (let round = 0; round < rounds; round++) {
        const before = agents.map(engineCalls);
        const usedInRound = startMeter(services);
        ours.push(await clusterRound(cluster, namespace, pods));
        const uses = usedInRound();
        for (const name of ['agent', 'apiserver', 'etcd'] as const) cpu[name] += partNamed(uses, name).cpuMs;
        calls = addCalls(calls, agents.map(engineCalls), before);
        total += pods;
        alone.push(await engineRound(network, pods));
      }
      const aPod = (ms: number) => (ms / (pods * rounds)).toFixed(0);
      const cpuText = `${aPod(cpu.agent)}, ${aPod(cpu.apiserver)}, ${aPod(cpu.etcd)} ms`;
      print(
        `| ${pods} | ${both(ours, 'started')} | ${both(alone, 'started')} | ${both(ours, 'removed')} | ${both(alone, 'removed')} | ${cpuText} |`,
      );
      const share = quantile(valuesOf(ours, 'started'), 0.5) / quantile(valuesOf(alone, 'started'), 0.5);
      verdicts.push(judge(`${pods} at once, to the engine alone`, share, { atMost: 1 }, ' of its time'));
    }
  });
  for (const line of ['', ...callTable(calls, total), '', ...verdicts, ...judgeRestarts(used())]) print(line);
}

function valuesOf(rounds: readonly Round[], what: keyof Round): readonly number[] {
  return rounds.flatMap((round) => round[what]);
}

function both(rounds: readonly Round[], what: keyof Round): string {
  const values = valuesOf(rounds, what);
  return `${quantile(values, 0.5).toFixed(0)} / ${quantile(values, 0.99).toFixed(0)} ms`;
}

/** Creates pods all at once, and deletes them all at once when the last one runs. */
async function clusterRound({ api }: MeasuredCluster, namespace: string, count: number): Promise<Round> {
  const names = Array.from({ length: count }, (_, index) => `pod-${index}`);
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, deadline(ROUND_MS)]);
  const running = new Map<string, number>();
  const gone = new Map<string, number>();
  const synced = Promise.withResolvers<void>();
  const allRunning = Promise.withResolvers<void>();
  const allGone = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const events of api.watch(PODS, { namespace, sendInitialEvents: true }, signal)) {
      for (const event of events) {
        if (event.type === 'BOOKMARK') {
          synced.resolve();
          continue;
        }
        const { metadata, status } = event.object;
        const name = metadata.name ?? '';
        if (event.type === 'DELETED') gone.set(name, performance.now());
        else if (status?.phase === 'Running' && !running.has(name)) running.set(name, performance.now());
      }
      if (running.size === count) allRunning.resolve();
      if (gone.size === count) allGone.resolve();
    }
  })();
  const ended = watching.then(() => Promise.reject(new Error('the watch of pods ended early')));
  ended.catch(() => undefined);
  try {
    await Promise.race([synced.promise, ended]);
    const createdAt = performance.now();
    await Promise.all(names.map((name) => api.create(PODS, sleeper(namespace, name), deadline())));
    await Promise.race([allRunning.promise, ended]);
    const deletedAt = performance.now();
    await Promise.all(names.map((name) => api.delete(PODS, podKey(namespace, name), {}, deadline())));
    await Promise.race([allGone.promise, ended]);
    const since = (times: ReadonlyMap<string, number>, from: number) => [...times.values()].map((at) => at - from);
    return { started: since(running, createdAt), removed: since(gone, deletedAt) };
  } finally {
    stop.abort();
    await watching.catch(() => undefined);
  }
}

function sleeper(namespace: string, name: string): Pod {
  const container = { name: 'main', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: COMMAND };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { containers: [container], terminationGracePeriodSeconds: GRACE_SECONDS },
  };
}

/** The same two containers for each pod, on the pods' network, all at once. */
async function engineRound(network: string, count: number): Promise<Round> {
  const engine = localEngine();
  const labels = { 'gantry.bench': 'pods' };
  const pairs: (readonly [string, string])[] = [];
  try {
    const startedAt = performance.now();
    const started = await Promise.all(
      Array.from({ length: count }, async () => {
        const host = { NetworkMode: network, IpcMode: 'shareable' };
        const sandbox = await engine.run({ Image: PAUSE, Labels: labels, HostConfig: host });
        const join = { NetworkMode: `container:${sandbox}`, IpcMode: `container:${sandbox}` };
        const main = await engine.run({ Image: IMAGE, Cmd: COMMAND, Labels: labels, HostConfig: join });
        pairs.push([main, sandbox]);
        return performance.now() - startedAt;
      }),
    );
    const removedFrom = performance.now();
    const removed = await Promise.all(
      pairs.splice(0).map(async ([main, sandbox]) => {
        await engine.stop(main, GRACE_SECONDS);
        await engine.remove(main);
        await engine.remove(sandbox);
        return performance.now() - removedFrom;
      }),
    );
    return { started, removed };
  } finally {
    const left = docker('ps', '-aq', '--filter', 'label=gantry.bench=pods');
    if (left !== '') docker('rm', '-f', ...left.split('\n'));
  }
}
