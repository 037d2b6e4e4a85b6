import { setTimeout as delay } from 'node:timers/promises';
import {
  type Deployment,
  DEPLOYMENTS,
  LEASES,
  NODES,
  type Pod,
  PODS,
  type PodTemplateSpec,
  STATEFUL_SETS,
  type StatefulSet,
} from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster } from './cluster.ts';
import { docker, runningContainers } from './processes.ts';
import { describeMs } from './statistics.ts';

const REPLICAS = 4;
const SETS = 2;
const TIMEOUT_MS = 120_000;
const IMAGE = 'registry.k8s.io/pause:3.10';

/** The moments of one pod and its successor, in milliseconds since the agent was killed. */
interface Moved {
  readonly deletedMs: number;
  readonly readyMs: number;
}

/**
 * Kills the agent of a node `trials` times, each second time that of the host's custodian, and waits until all pods of the node have successors that are Ready: of
 * a Deployment, and of a StatefulSet, whose pods wait for the end of those before.
 */
export async function measureLostNode(
  cluster: MeasuredCluster,
  trials: number,
  line: (text: string) => void,
): Promise<void> {
  await inNamespace(cluster.api, 'bench-lost-node', async (namespace) => {
    await cluster.api.create(DEPLOYMENTS, deployment(namespace), deadline());
    await cluster.api.create(STATEFUL_SETS, statefulSet(namespace), deadline());
    const all: Record<string, Moved[]> = { deployment: [], statefulset: [] };
    for (let trial = 0; trial < trials; trial++) {
      await untilSettled(cluster, namespace);
      const { node, lostMs, moved, wasCustodian } = await loseNode(cluster, namespace, trial);
      const worst = Math.max(...Object.values(moved).flatMap((pods) => pods.map(({ readyMs }) => readyMs)));
      line(
        `- trial ${trial + 1}, ${node}${wasCustodian ? ', the custodian' : ''}: lost after ${lostMs.toFixed(0)} ms, last successor Ready after ${worst.toFixed(0)} ms`,
      );
      for (const [app, pods] of Object.entries(moved)) all[app]?.push(...pods);
    }
    for (const [app, pods] of Object.entries(all)) {
      line(`- ${app}, kill to deleted: ${describeMs(pods.map(({ deletedMs }) => deletedMs))}`);
      line(`- ${app}, kill to the successor Ready: ${describeMs(pods.map(({ readyMs }) => readyMs))}`);
    }
  });
}

interface Trial {
  readonly node: string;
  readonly wasCustodian: boolean;
  readonly lostMs: number;
  readonly moved: Readonly<Record<string, readonly Moved[]>>;
}

async function loseNode({ api, project }: MeasuredCluster, namespace: string, trial: number): Promise<Trial> {
  const { items: nodes } = await api.list(NODES, {}, deadline());
  const { items: leases } = await api.list(LEASES, { namespace: 'kube-system' }, deadline());
  const custodian = leases.find(({ metadata }) => metadata.name?.startsWith('gantry-host-') === true);
  const isCustodian = (name: string | undefined) => custodian?.spec?.holderIdentity === name;
  // The host's custodian in each second trial.
  const wasCustodian = trial % 2 === 0;
  const node = nodes.find(({ metadata }) => isCustodian(metadata.name) === wasCustodian)?.metadata.name ?? '';
  const agents = runningContainers(project).filter(({ service }) => service === 'agent');
  const agent = agents.find(({ name }) => name.endsWith(`-${node.split('-').at(-1)}`));
  if (agent === undefined) throw new Error(`no container runs the agent of node ${node}`);
  const { items: before } = await api.list(PODS, { namespace }, deadline());
  const lost = before.filter(({ spec }) => spec?.nodeName === node);
  const old = new Map(lost.map((pod) => [pod.metadata.uid ?? '', pod]));
  const known = new Set(before.map(({ metadata }) => metadata.uid));
  const killedAt = performance.now();
  docker('kill', agent.id);
  const untilLost = untilNodeLost(api, node).then((at) => at - killedAt);
  const deleted = new Map<string, number>();
  const ready = new Map<string, { readonly app: string; readonly atMs: number }>();
  const signal = deadline(TIMEOUT_MS);
  for await (const events of api.watch(PODS, { namespace, sendInitialEvents: true }, signal)) {
    const atMs = performance.now() - killedAt;
    for (const event of events) {
      if (event.type === 'BOOKMARK') continue;
      const { uid = '', deletionTimestamp } = event.object.metadata;
      if (old.has(uid) && deletionTimestamp !== undefined && !deleted.has(uid)) deleted.set(uid, atMs);
      if (!known.has(uid) && event.type !== 'DELETED' && isReady(event.object) && !ready.has(uid)) {
        ready.set(uid, { app: appOf(event.object), atMs });
      }
    }
    if (ready.size >= old.size) break;
  }
  const moved: Record<string, Moved[]> = { deployment: [], statefulset: [] };
  for (const app of Object.keys(moved)) {
    const deletedMs = [...deleted].filter(([uid]) => appOf(old.get(uid)) === app).map(([, atMs]) => atMs);
    const readyMs = [...ready.values()].filter((one) => one.app === app).map(({ atMs }) => atMs);
    moved[app] = readyMs.map((ms, index) => ({ readyMs: ms, deletedMs: deletedMs[index] ?? Number.NaN }));
  }
  docker('start', agent.id);
  return { node, wasCustodian, lostMs: await untilLost, moved };
}

async function untilNodeLost(api: MeasuredCluster['api'], node: string): Promise<number> {
  for await (const events of api.watch(NODES, { sendInitialEvents: true }, deadline(TIMEOUT_MS))) {
    for (const event of events) {
      if (event.type === 'BOOKMARK' || event.object.metadata.name !== node) continue;
      const ready = event.object.status?.conditions?.find(({ type }) => type === 'Ready');
      if (ready?.status === 'Unknown') return performance.now();
    }
  }
  throw new Error('the watch of nodes ended early');
}

/** Waits until all nodes are Ready, all pods too, and each node has pods of the Deployment. */
async function untilSettled({ api }: MeasuredCluster, namespace: string): Promise<void> {
  const signal = deadline(TIMEOUT_MS);
  for (;;) {
    signal.throwIfAborted();
    const { items: nodes } = await api.list(NODES, {}, signal);
    const { items: pods } = await api.list(PODS, { namespace }, signal);
    const areNodesReady = nodes.every(
      ({ status, spec }) =>
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true &&
        (spec?.taints ?? []).length === 0,
    );
    const isComplete = pods.length === REPLICAS + SETS && pods.every((pod) => isReady(pod));
    if (areNodesReady && isComplete) {
      const bare = nodes.find(({ metadata }) => !pods.some(({ spec }) => spec?.nodeName === metadata.name));
      if (bare === undefined) break;
      // The successors of the trial before are all on the other nodes.
      for (const pod of pods.filter((_, index) => index % 2 === 0)) {
        const { name = '' } = pod.metadata;
        await api.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0 }, signal);
      }
    }
    await delay(500);
  }
  // A new heartbeat of each node, and a custodian that has seen it.
  await delay(5_000);
}

function isReady({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

function appOf(pod: Pod | undefined): string {
  return pod?.metadata.labels?.['app'] ?? '';
}

function template(app: string): PodTemplateSpec {
  return { metadata: { labels: { app } }, spec: { containers: [{ name: 'main', image: IMAGE }] } };
}

function deployment(namespace: string): Deployment {
  const labels = { app: 'deployment' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace },
    spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template: template('deployment') },
  };
}

function statefulSet(namespace: string): StatefulSet {
  const labels = { app: 'statefulset' };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace },
    spec: {
      replicas: SETS,
      serviceName: 'db',
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: labels },
      template: template('statefulset'),
    },
  };
}
