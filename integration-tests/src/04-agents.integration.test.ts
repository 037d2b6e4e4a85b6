import { DEPLOYMENTS, LEASES, type Pod } from '@gantry/objects';
import { afterEach, expect, test } from 'vitest';
import { Cluster, type Container, isReady, nginxDeployment, STAYING } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const POD_CONTAINERS = ['label=io.kubernetes.container.name=nginx'];

async function spreadPods(namespace: string, tolerations?: typeof STAYING): Promise<readonly Pod[]> {
  const web = nginxDeployment('web', 4);
  const spec = web.spec?.template.spec;
  if (spec !== undefined && tolerations !== undefined) spec.tolerations = tolerations;
  await cluster.create(DEPLOYMENTS, namespace, web);
  await cluster.untilRolledOut(namespace, 'web');
  return await cluster.pods(namespace);
}

const labelOf = (namespace: string) => [...POD_CONTAINERS, `label=io.kubernetes.pod.namespace=${namespace}`];

afterEach(async () => {
  await cluster.compose(['up', '-d', '--no-build', '--no-recreate', 'agent']);
  await cluster.untilNodesReady(2);
});

test('a node whose agent is killed is not Ready, and its pods are replaced on other nodes', async () => {
  await using namespace = await cluster.namespace();
  const pods = await spreadPods(namespace.name);
  const lost = pods[0]?.spec?.nodeName ?? '';
  const agent = await cluster.agentOf(lost);
  await cluster.docker(['kill', agent.id]);
  await eventually(`${lost} is not Ready`, 120_000, async () =>
    (await cluster.nodes()).some((node) => node.metadata.name === lost && !isReady(node)),
  );
  await eventually('all pods run on other nodes', 180_000, async () => {
    const running = (await cluster.pods(namespace.name)).filter(
      (pod) => pod.metadata.deletionTimestamp === undefined && isReady(pod) && pod.spec?.nodeName !== lost,
    );
    return running.length === 4;
  });
  await cluster.docker(['start', agent.id]);
  await cluster.untilNodesReady(2);
  await eventually('no pod and no container is left over', 120_000, async () => {
    const now = await cluster.pods(namespace.name);
    const containers = await cluster.podContainers(labelOf(namespace.name), 'all');
    return now.length === 4 && containers.length === 4;
  });
});

test('an agent whose process is killed on the host comes back by itself, and no pod notices', async () => {
  await using namespace = await cluster.namespace();
  const pods = await spreadPods(namespace.name, STAYING);
  const before = await cluster.podContainers(labelOf(namespace.name));
  const agent = await cluster.agentOf(pods[0]?.spec?.nodeName ?? '');
  const pid = await cluster.docker(['inspect', '-f', '{{.State.Pid}}', agent.id]);
  process.kill(Number(pid), 'SIGKILL');
  await eventually('the agent runs again', 120_000, async () => {
    const [state, now] = (await cluster.docker(['inspect', '-f', '{{.State.Status}} {{.State.Pid}}', agent.id])).split(
      ' ',
    );
    return state === 'running' && now !== pid;
  });
  await cluster.untilNodesReady(2);
  expect((await cluster.podContainers(labelOf(namespace.name))).toSorted()).toEqual(before.toSorted());
});

test.each([
  [
    'docker stop and start',
    async (agent: Container) => {
      await cluster.docker(['stop', agent.id]);
      await cluster.docker(['start', agent.id]);
    },
  ],
  [
    'docker compose restart',
    async () => {
      await cluster.compose(['restart', 'agent']);
    },
  ],
] as const)('%s of an agent restarts no container of a pod', async (_, restart) => {
  await using namespace = await cluster.namespace();
  const pods = await spreadPods(namespace.name, STAYING);
  const before = await cluster.podContainers(labelOf(namespace.name));
  await restart(await cluster.agentOf(pods[0]?.spec?.nodeName ?? ''));
  await cluster.untilNodesReady(2);
  expect((await cluster.podContainers(labelOf(namespace.name))).toSorted()).toEqual(before.toSorted());
  const after = await cluster.pods(namespace.name);
  expect(after.every((pod) => pod.status?.containerStatuses?.[0]?.restartCount === 0)).toBe(true);
});

test('a Node that is deleted while its agent lives comes back with its Lease, which it owns, and no pod notices', async () => {
  await using namespace = await cluster.namespace();
  const pods = await spreadPods(namespace.name, STAYING);
  const before = await cluster.podContainers(labelOf(namespace.name));
  const name = pods[0]?.spec?.nodeName ?? '';
  const uidOf = async () => (await cluster.nodes()).find(({ metadata }) => metadata.name === name)?.metadata.uid;
  const ownersOf = async () => {
    const leases = await cluster.list(LEASES, 'kube-node-lease');
    return leases.find(({ metadata }) => metadata.name === name)?.metadata.ownerReferences;
  };
  const owner = (uid: string | undefined) => [{ apiVersion: 'v1', kind: 'Node', name, uid }];
  const deleted = await uidOf();
  expect(await ownersOf()).toEqual(owner(deleted));

  await cluster.mustKubectl(['delete', 'node', name]);
  await eventually('the Node is registered again', 120_000, async () => ![undefined, deleted].includes(await uidOf()));
  const uid = await uidOf();
  await eventually('its Lease is owned by it', 120_000, async () => (await ownersOf())?.[0]?.uid === uid);
  expect(await ownersOf()).toEqual(owner(uid));
  await cluster.untilNodesReady(2);

  await cluster.docker(['restart', (await cluster.agentOf(name)).id]);
  await cluster.untilNodesReady(2);
  expect([await uidOf(), await ownersOf()]).toEqual([uid, owner(uid)]);
  expect((await cluster.podContainers(labelOf(namespace.name))).toSorted()).toEqual(before.toSorted());
  const now = (await cluster.pods(namespace.name)).map(({ metadata }) => metadata.uid ?? '').toSorted();
  expect(now).toEqual(pods.map(({ metadata }) => metadata.uid ?? '').toSorted());
});
