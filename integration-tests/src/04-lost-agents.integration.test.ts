import { DEPLOYMENTS, type Pod, PODS, STATEFUL_SETS } from '@gantry/objects';
import { afterEach, expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from './harness/cluster.ts';
import { recordContainerEvents } from './harness/container-events.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
/** The network on which agents reach the API. */
const CONTROL = `${cluster.clusterId}-control`;

afterEach(async () => {
  for (const { id, state } of await cluster.containers('agent')) {
    if (state === 'paused') await cluster.docker(['unpause', id]);
    const networks = await cluster.docker(['inspect', '-f', '{{json .NetworkSettings.Networks}}', id]);
    if (!Object.hasOwn(JSON.parse(networks) as object, CONTROL))
      await cluster.docker(['network', 'connect', CONTROL, id]);
  }
  await cluster.compose(['up', '-d', '--no-build', '--no-recreate', 'agent']);
  await cluster.untilNodesReady(2);
});

const staying = (pods: readonly Pod[]) => pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const uidOf = ({ metadata }: Pod) => metadata.uid ?? '';

test('an agent that was frozen while its pods were replaced starts nothing of them when it goes on', async () => {
  await using namespace = await cluster.namespace();
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 4));
  await cluster.untilRolledOut(namespace.name, 'web');
  const before = await cluster.pods(namespace.name);
  const frozen = before[0]?.spec?.nodeName ?? '';
  const old = before.filter(({ spec }) => spec?.nodeName === frozen).map(uidOf);
  const agent = await cluster.agentOf(frozen);
  await cluster.docker(['pause', agent.id]);
  // It shall not even learn what happened to its pods when it goes on, but that their containers have ended.
  await cluster.docker(['network', 'disconnect', CONTROL, agent.id]);
  await eventually('all pods run on other nodes', 120_000, async () => {
    const pods = staying(await cluster.pods(namespace.name));
    return pods.length === 4 && pods.every((pod) => isReady(pod) && pod.spec?.nodeName !== frozen);
  });
  await eventually('no container of the pods that were replaced is left', 120_000, async () => {
    const left = old.map((uid) => cluster.podContainers([`label=io.kubernetes.pod.uid=${uid}`], 'all'));
    return (await Promise.all(left)).flat().length === 0;
  });

  await using recorded = await recordContainerEvents(cluster, [`gantry.node=${frozen}`]);
  const since = await cluster.docker(['info', '-f', '{{.SystemTime}}']);
  await cluster.docker(['unpause', agent.id]);
  await eventually('the agent goes on, and misses the API', 60_000, async () => {
    const { stdout, stderr } = await runProgram('docker', ['logs', '--since', since, agent.id]);
    return `${stdout}${stderr}`.includes('heartbeat failed');
  });
  await cluster.docker(['network', 'connect', CONTROL, agent.id]);
  await cluster.untilNodesReady(2);
  // When it has started a later pod, it has done what it had to do for earlier ones.
  const later = await cluster.create(PODS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'later' },
    spec: { nodeName: frozen, containers: [{ name: 'main', image: 'nginx:1.7.9' }] },
  });
  await eventually('a pod runs on the node', 120_000, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'later');
    return isReady(pod) && recorded.events().some(({ container }) => container === 'main');
  });
  const started = recorded.events().filter(({ what }) => what === 'start');
  expect(new Set(started.map(({ podUid }) => podUid))).toEqual(new Set([uidOf(later)]));
  const filters = [`label=io.kubernetes.pod.namespace=${namespace.name}`, 'label=io.kubernetes.container.name=nginx'];
  expect(await cluster.podContainers(filters)).toHaveLength(4);
});

/** On SIGTERM it works on for some seconds, within its grace period. */
const SLOW_END = "trap 'sleep 5; exit 0' TERM; while :; do sleep 0.2; done";

test('a pod with an identity whose agent was killed is replaced, but not before it has ended', async () => {
  await using namespace = await cluster.namespace();
  const labels = [`io.kubernetes.pod.namespace=${namespace.name}`, 'io.kubernetes.container.name=main'];
  await using recorded = await recordContainerEvents(cluster, labels);
  await cluster.create(STATEFUL_SETS, namespace.name, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: {
      replicas: 1,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: {
          terminationGracePeriodSeconds: 60,
          containers: [{ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', SLOW_END] }],
        },
      },
    },
  });
  const ready = async () => {
    const pod = await cluster.get(PODS, namespace.name, 'db-0');
    return isReady(pod) ? pod : undefined;
  };
  const first = await eventually('the pod is ready', 120_000, ready);
  const lost = first.spec?.nodeName ?? '';
  await cluster.docker(['kill', (await cluster.agentOf(lost)).id]);
  const second = await eventually('its successor is ready', 180_000, async () => {
    const pod = await ready();
    return pod !== undefined && uidOf(pod) !== uidOf(first) ? pod : undefined;
  });
  expect(second.spec?.nodeName).not.toBe(lost);
  await eventually('the engine has said so', 10_000, () => recorded.events().length >= 3);
  expect(recorded.events()).toEqual([
    { what: 'start', podUid: uidOf(first), container: 'main', exitCode: '' },
    { what: 'die', podUid: uidOf(first), container: 'main', exitCode: '0' },
    { what: 'start', podUid: uidOf(second), container: 'main', exitCode: '' },
  ]);
});
