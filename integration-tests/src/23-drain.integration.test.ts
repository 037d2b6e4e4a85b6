import {
  type Deployment,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  NODES,
  type Pod,
  POD_DISRUPTION_BUDGETS,
  PODS,
} from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { recordWatch, untilSeen } from './harness/recorded-watch.ts';

const DRAIN_MS = 180_000;
const SEEN_MS = 120_000;

const cluster = new Cluster();

/** Runs a command in the nginx container of a pod. */
async function inContainer(pod: string, ...command: string[]): Promise<void> {
  const labels = [`label=io.kubernetes.pod.name=${pod}`, 'label=io.kubernetes.container.name=nginx'];
  const [id = ''] = await cluster.podContainers(labels);
  await cluster.docker(['exec', id, ...command]);
}

/** Ready as long as a file of its is absent. */
function gatedDeployment(): Deployment {
  const deployment = nginxDeployment('web', 3);
  const spec = deployment.spec?.template.spec;
  const [container] = spec?.containers ?? [];
  if (spec === undefined || container === undefined) throw new Error('a deployment without a container');
  spec.terminationGracePeriodSeconds = 1;
  container.readinessProbe = {
    exec: { command: ['sh', '-c', 'test ! -e /tmp/closed'] },
    periodSeconds: 1,
    // What a busy machine answers late is not unready.
    timeoutSeconds: 60,
    failureThreshold: 1,
  };
  return deployment;
}

const living = (pods: readonly Pod[]) => pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const addressesOf = (pods: readonly Pod[]) => pods.map(({ status }) => status?.podIP ?? '').toSorted();

test('a Service has the addresses of its ready pods, and a drain keeps to the disruption budget', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', name, ...args], { timeoutMs: DRAIN_MS });
  const pods = async () => living(await cluster.pods(name));
  const endpoints = async () => {
    const { subsets = [] } = await cluster.get(ENDPOINTS, name, 'web');
    const addresses = (part: 'addresses' | 'notReadyAddresses') =>
      subsets.flatMap((subset) => (subset[part] ?? []).map(({ ip }) => ip)).toSorted();
    return { ready: addresses('addresses'), notReady: addresses('notReadyAddresses') };
  };
  const untilEndpoints = (ready: readonly string[], notReady: readonly string[]) =>
    eventually(`endpoints ${ready.join()} and ${notReady.join()}`, SEEN_MS, async () => {
      const now = await endpoints();
      return now.ready.join() === ready.join() && now.notReady.join() === notReady.join();
    });

  await cluster.create(DEPLOYMENTS, name, gatedDeployment());
  await cluster.untilRolledOut(name, 'web');
  await kubectl('expose', 'deployment', 'web', '--port=80');
  const all = addressesOf(await pods());
  await untilEndpoints(all, []);
  const [address = ''] = all;
  expect(await kubectl('get', 'endpoints', 'web')).toContain(`${address}:80`);
  await eventually('kubectl shows its slice', SEEN_MS, async () =>
    /^web-\w+ +IPv4 +80 /m.test(await kubectl('get', 'endpointslices', '-l', 'kubernetes.io/service-name=web')),
  );

  const closed = (await pods()).find(({ status }) => status?.podIP === address)?.metadata.name ?? '';
  await inContainer(closed, 'touch', '/tmp/closed');
  await untilEndpoints(all.slice(1), [address]);
  await eventually('the slice says so', SEEN_MS, async () => {
    const slices = await cluster.list(ENDPOINT_SLICES, name, 'kubernetes.io/service-name=web');
    const endpoint = slices.flatMap(({ endpoints: of = [] }) => of).find(({ addresses }) => addresses[0] === address);
    return endpoint?.conditions?.ready === false && endpoint.conditions.serving === false;
  });
  await inContainer(closed, 'rm', '/tmp/closed');
  await untilEndpoints(all, []);

  await kubectl('create', 'poddisruptionbudget', 'keep', '--selector=app=web', '--min-available=3');
  await eventually('the budget is counted', SEEN_MS, async () => {
    const { status } = await cluster.get(POD_DISRUPTION_BUDGETS, name, 'keep');
    return status?.expectedPods === 3 && status.currentHealthy === 3;
  });
  const before = await pods();
  const node = before[0]?.spec?.nodeName ?? '';
  const drain = (seconds: number) =>
    cluster.kubectl(['drain', node, '--pod-selector=app=web', `--timeout=${seconds}s`], { timeoutMs: DRAIN_MS });
  try {
    // Long enough for its first attempt on a busy machine.
    const refused = await drain(15);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("Cannot evict pod as it would violate the pod's disruption budget.");
    expect((await cluster.get(NODES, '', node)).spec?.unschedulable).toBe(true);
    expect(addressesOf(await pods())).toEqual(addressesOf(before));

    await using watch = await recordWatch<Pod>(cluster, PODS, name);
    await kubectl('patch', 'pdb', 'keep', '--type=merge', '-p', '{"spec":{"minAvailable":2}}');
    const drained = await drain(120);
    expect(drained.stderr + drained.stdout).toContain(`node/${node} drained`);
    await cluster.untilRolledOut(name, 'web');
    await untilSeen(cluster, watch, PODS, name);
    const healthy = watch.states.map((state) => living(state).filter(isReady).length);
    expect(Math.min(...healthy)).toBeGreaterThanOrEqual(2);
    expect((await pods()).some(({ spec }) => spec?.nodeName === node)).toBe(false);
    await untilEndpoints(addressesOf(await pods()), []);
  } finally {
    await cluster.mustKubectl(['uncordon', node]);
  }
  expect((await cluster.get(NODES, '', node)).spec?.unschedulable).toBeUndefined();
});
