import { setTimeout as delay } from 'node:timers/promises';
import { type Deployment, DEPLOYMENTS, LEASES, type Pod, PODS, REPLICA_SETS } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster, podKey, untilObject } from './cluster.ts';
import { docker, runningContainers } from './processes.ts';
import { describeMs } from './statistics.ts';

const RUNS = 20;

/** Time from the end of a leader (by SIGKILL and by SIGTERM) to the first write of the next. */
export async function measureFailover(cluster: MeasuredCluster): Promise<string[]> {
  const lines: string[] = [];
  await inNamespace(cluster.api, 'bench-failover', async (namespace) => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const scheduler = await repeat((i) => schedulerRun(cluster, namespace, signal, i));
      lines.push(`- scheduler, ${signal} to the next binding: ${describeMs(scheduler)}`);
      const controllers = await repeat((i) => controllerRun(cluster, namespace, signal, i));
      lines.push(`- controller-manager, ${signal} to the next ReplicaSet: ${describeMs(controllers)}`);
    }
  });
  return lines;
}

async function repeat(run: (i: number) => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) times.push(await run(i));
  return times;
}

async function schedulerRun(
  cluster: MeasuredCluster,
  namespace: string,
  signal: NodeJS.Signals,
  i: number,
): Promise<number> {
  const name = `pod-${signal.toLowerCase()}-${i}`;
  const bound = untilObject<Pod>(
    cluster.api,
    PODS,
    namespace,
    30_000,
    (pod) => pod.metadata.name === name && (pod.spec?.nodeName ?? '') !== '',
  );
  const killedAt = await endLeader(cluster, 'scheduler', signal);
  const object: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }] },
  };
  await cluster.api.create(PODS, object, deadline());
  const took = (await bound).at - killedAt;
  await cluster.api.delete(PODS, podKey(namespace, name), { gracePeriodSeconds: 0 }, deadline());
  await untilComplete(cluster, 'scheduler');
  return took;
}

async function controllerRun(
  cluster: MeasuredCluster,
  namespace: string,
  signal: NodeJS.Signals,
  i: number,
): Promise<number> {
  const name = `site-${signal.toLowerCase()}-${i}`;
  const labels = { app: name };
  const made = untilObject(cluster.api, REPLICA_SETS, namespace, 30_000, (set) =>
    (set.metadata.name ?? '').startsWith(`${name}-`),
  );
  const killedAt = await endLeader(cluster, 'controller-manager', signal);
  const object: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'registry.k8s.io/pause:3.10' }] } },
    },
  };
  await cluster.api.create(DEPLOYMENTS, object, deadline());
  const took = (await made).at - killedAt;
  await cluster.api.delete(DEPLOYMENTS, { namespace, name }, {}, deadline());
  await untilComplete(cluster, 'controller-manager');
  return took;
}

/** Ends the leading process on the host; the engine restarts it. */
async function endLeader(cluster: MeasuredCluster, service: string, signal: NodeJS.Signals): Promise<number> {
  const lease = await cluster.api.get(LEASES, { namespace: 'kube-system', name: `kube-${service}` }, deadline());
  const holder = lease.spec?.holderIdentity ?? '';
  const leader = runningContainers(cluster.project).find(
    (c) => c.service === service && holder.includes(c.id.slice(0, 12)),
  );
  if (leader === undefined) throw new Error(`no container of ${service} is "${holder}"`);
  const pid = Number(docker('inspect', '-f', '{{.State.Pid}}', leader.id));
  process.kill(pid, signal);
  return performance.now();
}

/** Waits until all replicas run again. */
async function untilComplete(cluster: MeasuredCluster, service: string): Promise<void> {
  for (let running = 0; running < 2; ) {
    await delay(200);
    running = runningContainers(cluster.project).filter((c) => c.service === service).length;
  }
  await delay(3_000);
}
