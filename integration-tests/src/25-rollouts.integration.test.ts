import { type Deployment, DEPLOYMENTS, ENDPOINT_SLICES, hasEnded, PODS, SERVICES, StatusError } from '@gantry/objects';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { GRACEFUL_SERVER, type LoadReport, type RequestLoad, startLoad } from './harness/request-load.ts';
import { ANSWER_MS, ServicePods } from './harness/service-pods.ts';

/** `npm run rollouts`: ten rollouts, with twice the load, and a bound for how long a pod gets requests that it should not. */
const ROLLOUTS = Number(process.env['GANTRY_ROLLOUTS'] ?? 1);
const IS_CAMPAIGN = ROLLOUTS > 1;
/** Requests a second of each of two loads. */
const RATE = IS_CAMPAIGN ? 200 : 100;
const MOST_LATE_MS = 2000;
const SOON_MS = 180_000;
const REPLICAS = 4;

const cluster = new Cluster();
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let pods: ServicePods;
let clusterIP: string;
let client: string;

beforeAll(async () => {
  namespace = await cluster.namespace();
  pods = new ServicePods(cluster, namespace.name);
  const labels = { app: 'web' };
  const spec = await pods.serverSpec();
  const [container] = spec.containers;
  if (container === undefined) throw new Error('a server without a container');
  const main = {
    ...container,
    command: ['node', '-e', GRACEFUL_SERVER],
    env: [{ name: 'QUIET_MS', value: '5000' }],
    // What a busy machine answers late is not unready.
    readinessProbe: {
      httpGet: { port: 8080, path: '/ready' },
      periodSeconds: 1,
      failureThreshold: 1,
      timeoutSeconds: 60,
    },
  };
  await cluster.create<Deployment>(DEPLOYMENTS, namespace.name, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 2 } },
      template: { metadata: { labels }, spec: { ...spec, terminationGracePeriodSeconds: 60, containers: [main] } },
    },
  });
  const service = await cluster.create(SERVICES, namespace.name, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 'web' }] },
  });
  clusterIP = service.spec?.clusterIP ?? '';
  const node = (await cluster.nodes())[0]?.metadata.name ?? '';
  await pods.server('client', node);
  await pods.untilReady('client');
  client = await pods.container('client');
  await cluster.untilRolledOut(namespace.name, 'web');
  await untilAnswered();
});
/** Starts agents that a test has ended. */
async function restoreAgents(): Promise<void> {
  await cluster.compose(['up', '-d', '--no-build', '--no-recreate', 'agent']);
  await cluster.untilNodesReady(2);
}

afterEach(restoreAgents);
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
const servers = async () =>
  (await cluster.pods(namespace.name, 'app=web')).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

/** Waits until so many requests in a row are answered that no endpoint of the rules can be dead. */
async function untilAnswered(): Promise<void> {
  await eventually('all requests are answered', SOON_MS, async () =>
    (await pods.ask('client', clusterIP, 60)).every((answer) => answer.startsWith('web-')),
  );
}

async function untilEndpoints(what: string, wanted: (ready: readonly string[]) => boolean): Promise<void> {
  await eventually(what, SOON_MS, async () => {
    const slices = await cluster.list(ENDPOINT_SLICES, namespace.name, 'kubernetes.io/service-name=web');
    const ready = slices
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready === true);
    return wanted(ready.map(({ targetRef }) => targetRef?.name ?? ''));
  });
}

function startLoads(): readonly RequestLoad[] {
  return [
    startLoad(client, `http://${clusterIP}/`, RATE, 'new'),
    startLoad(client, `http://${clusterIP}/`, RATE, 'kept-alive'),
  ];
}

async function endLoads(loads: readonly RequestLoad[]): Promise<readonly LoadReport[]> {
  return await Promise.all(loads.map((load) => load.end()));
}

function report(what: string, of: readonly LoadReport[]): void {
  const answered = of.reduce((sum, one) => sum + one.answered, 0);
  const failed = of.reduce((sum, { failures }) => sum + failures.length, 0);
  process.stdout.write(`${what}: ${answered} requests answered, ${failed} failed\n`);
}

/** What has failed, and how often: a list of a thousand failures says no more. */
function failuresOf(of: readonly LoadReport[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { why } of of.flatMap(({ failures }) => failures)) counts[why] = (counts[why] ?? 0) + 1;
  return counts;
}

interface FollowedPods extends AsyncDisposable {
  /** When each pod was first seen as one that is to stop, in Unix milliseconds. */
  readonly endedAt: ReadonlyMap<string, number>;
  /** Addresses that two pods had at the same time. */
  readonly shared: readonly string[];
}

/** Follows the namespace's pods, over several watches where one ends. */
function followPods(): FollowedPods {
  const stop = new AbortController();
  const endedAt = new Map<string, number>();
  const shared: string[] = [];
  const options = { namespace: namespace.name, sendInitialEvents: true };
  const takeAll = async () => {
    const owners = new Map<string, string>();
    for await (const events of cluster.api.watch(PODS, options, stop.signal)) {
      for (const event of events) {
        if (event.type === 'BOOKMARK') continue;
        const { metadata, status } = event.object;
        const [name, address] = [metadata.name ?? '', status?.podIP];
        if (metadata.deletionTimestamp !== undefined && !endedAt.has(name)) endedAt.set(name, Date.now());
        if (address === undefined) continue;
        const owner = owners.get(address);
        if (event.type === 'DELETED' || hasEnded(event.object)) {
          if (owner === name) owners.delete(address);
          continue;
        }
        if (owner !== undefined && owner !== name) shared.push(`${address}: ${owner}, ${name}`);
        owners.set(address, name);
      }
    }
  };
  const reading = (async () => {
    while (!stop.signal.aborted) {
      try {
        await takeAll();
      } catch (error) {
        if (stop.signal.aborted) return;
        // A watch may end at any time.
        if (!(error instanceof StatusError)) throw error;
      }
    }
  })();
  return {
    endedAt,
    shared,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reading;
    },
  };
}

test(
  'no request through a ClusterIP fails during rollouts, on new connections and on kept ones',
  async () => {
    await using followed = followPods();
    const loads = startLoads();
    for (let round = 1; round <= ROLLOUTS; round++) {
      await kubectl('set', 'env', 'deployment/web', `ROUND=${round}`);
      await cluster.untilRolledOut(namespace.name, 'web');
    }
    const reports = await endLoads(loads);
    report(`${ROLLOUTS} rollouts`, reports);
    expect(failuresOf(reports)).toEqual({});
    for (const { answered } of reports) expect(answered).toBeGreaterThan(100);
    expect(followed.shared).toEqual([]);
    await eventually('the end of each pod was seen', SOON_MS, () => followed.endedAt.size >= ROLLOUTS * REPLICAS);
    const late = [...followed.endedAt].map(([name, at]) => (reports[0]?.lastOpened[name] ?? 0) - at);
    const latest = Math.max(...late);
    process.stdout.write(`new connections to a pod that terminates: at most ${latest} ms after that was seen\n`);
    if (IS_CAMPAIGN) expect(latest).toBeLessThan(MOST_LATE_MS);
  },
  300_000 + ROLLOUTS * 120_000,
);

test('a pod that is not ready any more gets no new connection, and none fails', async () => {
  const [pod] = await servers();
  const name = pod?.metadata.name ?? '';
  const loads = startLoads();
  await untilEndpoints('the pod is an endpoint', (ready) => ready.includes(name));
  expect(await pods.ask('client', `${pod?.status?.podIP}:8080/unready`, 1, ANSWER_MS)).toEqual([name]);
  await untilEndpoints('the pod is no endpoint', (ready) => !ready.includes(name));
  const removedAt = Date.now();
  await eventually('other pods answer', SOON_MS, async () => {
    const answers = await pods.ask('client', clusterIP, 60);
    return !answers.includes(name);
  });
  const unusedFrom = Date.now();
  await kubectl('delete', 'pod', name, '--wait=true');
  await cluster.untilRolledOut(namespace.name, 'web');
  const reports = await endLoads(loads);
  expect(failuresOf(reports)).toEqual({});
  const last = reports[0]?.lastOpened[name] ?? 0;
  process.stdout.write(
    `new connections to a pod that is not ready: ${last - removedAt} ms after its endpoint was not\n`,
  );
  expect(last).toBeLessThan(unusedFrom);
  if (IS_CAMPAIGN) expect(last - removedAt).toBeLessThan(MOST_LATE_MS);
});

interface Loss {
  readonly what: string;
  readonly withPods: boolean;
}

/** An agent's pods serve on without it: its end alone is no more than the replacement of its pods. */
const LOSSES: readonly Loss[] = [
  ...(IS_CAMPAIGN ? [{ what: 'an agent', withPods: false }] : []),
  { what: 'an agent and its pods', withPods: true },
];

test.each(LOSSES)(
  'when $what ends, only requests to its pods fail: none once the loss is known, and none when it returns',
  async ({ what, withPods }) => {
    if (new Set((await servers()).map(({ spec }) => spec?.nodeName)).size < 2) {
      await kubectl('rollout', 'restart', 'deployment/web');
      await cluster.untilRolledOut(namespace.name, 'web');
    }
    const ofClient = (await cluster.get(PODS, namespace.name, 'client')).spec?.nodeName;
    const all = await servers();
    const node = all.map(({ spec }) => spec?.nodeName ?? '').find((name) => name !== ofClient) ?? '';
    const lost = all.filter(({ spec }) => spec?.nodeName === node).map(({ metadata }) => metadata.name ?? '');
    expect(lost.length).toBeGreaterThan(0);
    const containers: string[] = [];
    if (withPods) for (const name of lost) containers.push(await pods.container(name));
    const agents = await cluster.containers('agent');
    const agent = agents.find(({ name }) => name.endsWith(node.slice(node.lastIndexOf('-'))));
    const loads = startLoads();
    await untilAnswered();
    const killedAt = Date.now();
    await cluster.docker(['kill', agent?.id ?? '', ...containers]);
    await untilEndpoints(
      'the pods of the node are no endpoints',
      (ready) => !lost.some((name) => ready.includes(name)),
    );
    const detectedAt = Date.now();
    await untilAnswered();
    const programmedAt = Date.now();
    await eventually('other pods replace them', SOON_MS, async () => {
      const ready = (await servers()).filter((pod) => isReady(pod) && pod.spec?.nodeName !== node);
      return ready.length === REPLICAS;
    });
    await restoreAgents();
    await eventually('the lost pods are gone', SOON_MS, async () =>
      (await cluster.pods(namespace.name)).every(({ metadata }) => !lost.includes(metadata.name ?? '')),
    );
    const reports = await endLoads(loads);
    report(`${what} ended, known after ${detectedAt - killedAt} ms`, reports);
    const failures = reports.flatMap((one) => one.failures);
    for (const failure of failures) {
      expect(failure.until, JSON.stringify(failure)).toBeGreaterThanOrEqual(killedAt);
      expect(failure.at, JSON.stringify(failure)).toBeLessThan(programmedAt);
      if (failure.server !== undefined) expect(lost).toContain(failure.server);
    }
    if (!withPods) expect(failuresOf(reports)).toEqual({});
    if (failures.length === 0) return;
    const latest = Math.max(...failures.map(({ at }) => at)) - detectedAt;
    process.stdout.write(`the last failed request began ${latest} ms after the loss was known\n`);
    if (IS_CAMPAIGN) expect(latest).toBeLessThan(MOST_LATE_MS);
  },
);
