import { setTimeout as delay } from 'node:timers/promises';
import { type Container, EVENTS, LEASES, NODES, type Pod, PODS } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster, podKey } from './cluster.ts';
import { addCalls, type Calls, engineCalls } from './engine-calls.ts';
import { counted, countWrites } from './api-writes.ts';
import { judgeRestarts, startMeter } from './parts.ts';
import { pssKib, type ServiceContainer, serviceContainers, sumOf } from './processes.ts';

/** What a node holds at most. */
const MAX_PODS = 110;
const IMAGE = 'busybox:1.36';
/** Between the last pod's start and the measurement: what their start has caused is over. */
const SETTLE_MS = 60_000;
const START_MS = 600_000;
/** Memory is looked at so often. */
const LOOK_MS = 10_000;
/** One pod in so many has a probe that runs a command: each costs tens of milliseconds of the engine's CPU. */
const PODS_PER_EXEC_PROBE = 10;
/** As seldom as the slow relist of `services/agent/src/pods/pod-manager.ts`. */
const MAX_LISTS_PER_MINUTE = 1;

/** What one agent and its API cost while as many pods as a node holds run and are probed. */
export async function measureSteady(
  { api, project }: MeasuredCluster,
  minutes: number,
  print: (line: string) => void,
): Promise<void> {
  const { agent, node } = await findAgent(api, project);
  await inNamespace(api, `bench-steady-${process.pid}`, async (namespace) => {
    const before = await api.list(PODS, { fieldSelector: `spec.nodeName=${node}` }, deadline());
    const names = Array.from({ length: MAX_PODS - before.items.length }, (_, index) => `pod-${index}`);
    for (const [index, name] of names.entries()) {
      await api.create(PODS, probedPod(namespace, name, node, index % PODS_PER_EXEC_PROBE === 0), deadline());
    }
    await untilReady(api, namespace, names.length);
    await delay(SETTLE_MS);
    for (const line of await measure(api, agent, node, minutes)) print(line);
    await Promise.all(names.map((name) => api.delete(PODS, podKey(namespace, name), {}, deadline(START_MS))));
  });
}

/** One that is not its host's custodian, where there are several: the custodian also cares for what all agents of the host share. */
async function findAgent(api: MeasuredCluster['api'], project: string) {
  const nodes = await api.list(NODES, {}, deadline());
  const leases = await api.list(LEASES, { namespace: 'kube-system' }, deadline());
  const leading = leases.items.filter(({ metadata }) => metadata.name?.startsWith('gantry-host-') === true);
  const custodians = new Set(leading.map(({ spec }) => spec?.holderIdentity));
  const names = nodes.items.map(({ metadata }) => metadata.name ?? '');
  const node = names.find((name) => !custodians.has(name)) ?? names[0] ?? '';
  const number = /-(\d+)$/.exec(node)?.[1] ?? '';
  const agent = serviceContainers(project).find(({ name }) => name === `${project}-agent-${number}`);
  if (agent === undefined) throw new Error(`the node ${node} has no agent on this machine`);
  return { agent, node };
}

async function untilReady(api: MeasuredCluster['api'], namespace: string, count: number): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    const { items } = await api.list(PODS, { namespace }, deadline());
    const isReady = ({ status }: Pod) =>
      status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    const ready = items.filter(isReady).length;
    if (ready === count) return;
    if (performance.now() > until) throw new Error(`only ${ready} of ${count} pods are ready`);
    await delay(LOOK_MS);
  }
}

async function measure(
  api: MeasuredCluster['api'],
  agent: ServiceContainer,
  node: string,
  minutes: number,
): Promise<string[]> {
  const writes = countWrites(api, [
    counted(LEASES, ({ metadata }) => (metadata.name === node ? LEASES.resource : undefined)),
    counted(NODES, ({ metadata }) => (metadata.name === node ? NODES.resource : undefined)),
    counted(PODS, ({ spec }) => (spec?.nodeName === node ? PODS.resource : undefined)),
    counted(EVENTS, ({ source, reportingInstance }) =>
      source?.host === node || reportingInstance === node ? EVENTS.resource : undefined,
    ),
  ]);
  const callsBefore = engineCalls(agent);
  const used = startMeter([{ name: 'agent', pids: agent.pids, mainPids: [agent.mainPid] }]);
  const startedAt = performance.now();
  let peakKib = 0;
  while (performance.now() - startedAt < minutes * 60_000) {
    peakKib = Math.max(peakKib, sumOf(agent.pids.map(pssKib)));
    await delay(Math.min(LOOK_MS, minutes * 60_000));
  }
  const tookMs = performance.now() - startedAt;
  const uses = used();
  const calls = addCalls(new Map(), [engineCalls(agent)], [callsBefore]);
  await writes.stop();
  const cpu = (sumOf(uses.map(({ cpuMs }) => cpuMs)) / tookMs) * 100;
  return [
    `${MAX_PODS} pods on one node for ${(tookMs / 60_000).toFixed(1)} min: the agent takes ${cpu.toFixed(1)} % of a core and ${(peakKib / 1024).toFixed(0)} MiB at most.`,
    '',
    ...table('request to the engine', perMinute(calls, tookMs)),
    '',
    ...table('write to the API about the node and its pods', perMinute(writes.counts, tookMs)),
    '',
    verdict(calls, tookMs),
    ...judgeRestarts(uses),
  ];
}

/** The most frequent ones first. */
function perMinute(
  counts: Calls | ReadonlyMap<string, number>,
  tookMs: number,
): readonly (readonly [string, number])[] {
  const numbers = [...counts].map(([name, value]) => [name, typeof value === 'number' ? value : value.count] as const);
  return numbers
    .filter(([, count]) => count > 0)
    .map(([name, count]) => [name, (count * 60_000) / tookMs] as const)
    .sort(([, a], [, b]) => b - a);
}

function table(title: string, rows: readonly (readonly [string, number])[]): string[] {
  const all = sumOf(rows.map(([, count]) => count));
  return [
    `| ${title} | a minute |`,
    '| --- | --- |',
    ...[...rows, ['all', all] as const].map(([name, count]) => `| ${name} | ${count.toFixed(1)} |`),
  ];
}

/**
 * A list of everything costs the engine the more the more there is: none is to be made but by the slow relist. The check of the engine's
 * health, a ping and a list of one container, is none of these.
 */
function verdict(calls: Calls, tookMs: number): string {
  const countOf = (call: string) => calls.get(call)?.count ?? 0;
  const lists = countOf('GET /containers/json') - countOf('GET /_ping');
  const allowed = Math.ceil(tookMs / 60_000) * MAX_LISTS_PER_MINUTE + 1;
  if (lists > allowed) process.exitCode = 1;
  return `${lists} lists of all containers, ${lists > allowed ? 'MORE than' : 'within'} the ${allowed} of the slow relist.`;
}

function probedPod(namespace: string, name: string, node: string, runsCommands: boolean): Pod {
  const get = { path: '/index.html', port: 8080 };
  const container: Container = {
    name: 'main',
    image: IMAGE,
    imagePullPolicy: 'IfNotPresent',
    command: [
      'sh',
      '-c',
      'trap "exit 0" TERM; mkdir /www; echo ok > /www/index.html; httpd -h /www -p 8080; sleep 36000 & wait',
    ],
    readinessProbe: { httpGet: get, periodSeconds: 5 },
    livenessProbe: runsCommands
      ? { exec: { command: ['true'] }, periodSeconds: 10 }
      : { tcpSocket: { port: 8080 }, periodSeconds: 10 },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { nodeName: node, containers: [container], terminationGracePeriodSeconds: 5 },
  };
}
