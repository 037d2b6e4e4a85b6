import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DEPLOYMENTS,
  LEASES,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type Pod,
  PODS,
  STATEFUL_SETS,
  type StatefulSet,
} from '@gantry/objects';
import { afterEach, expect, test } from 'vitest';
import { Cluster, type Container, isReady, nginxDeployment, STAYING } from './harness/cluster.ts';
import { recordContainerEvents } from './harness/container-events.ts';
import { eventually } from './harness/eventually.ts';
import { API_PORTS, cut, heal } from './harness/network-cuts.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
/** The network on which agents reach the API. */
const CONTROL = `${cluster.clusterId}-control`;

afterEach(async () => {
  for (const agent of await cluster.containers('agent')) {
    const { id, state } = agent;
    if (state === 'paused') await cluster.docker(['unpause', id]);
    const networks = await cluster.docker(['inspect', '-f', '{{json .NetworkSettings.Networks}}', id]);
    if (!Object.hasOwn(JSON.parse(networks) as object, CONTROL))
      await cluster.docker(['network', 'connect', CONTROL, id]);
    if (state !== 'exited') await heal(cluster, agent);
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
  await eventually('the agent goes on, and misses the API', 120_000, async () => {
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

/** Appends to its data, and says who does, until it has worked on for some seconds after SIGTERM. */
const WRITER = [
  'end() { sleep 2; echo "end $HOSTUID" >> /data/log; exit 0; }',
  'trap end TERM',
  'echo "start $HOSTUID" >> /data/log',
  'while :; do echo "$HOSTUID" >> /data/log; sleep 0.1; done',
].join('\n');

/** A volume that every node has, for one pod at a time. */
const sharedVolume = (name: string, path: string): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOncePod'],
    storageClassName: name,
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path },
  },
});

const writerSet = (storageClassName: string): StatefulSet => ({
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
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sh', '-c', WRITER],
            env: [{ name: 'HOSTUID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: {
          accessModes: ['ReadWriteOncePod'],
          storageClassName,
          resources: { requests: { storage: '1Gi' } },
        },
      },
    ],
  },
});

const FAULTS: readonly {
  readonly name: string;
  readonly strike: (agent: Container) => Promise<unknown>;
  readonly undo: (agent: Container) => Promise<unknown>;
}[] = [
  {
    name: 'is killed',
    strike: ({ id }) => cluster.docker(['kill', id]),
    undo: ({ id }) => cluster.docker(['start', id]),
  },
  {
    name: 'is frozen for longer than every lease',
    strike: ({ id }) => cluster.docker(['pause', id]),
    undo: ({ id }) => cluster.docker(['unpause', id]),
  },
  {
    name: 'is cut off from the API',
    strike: (agent) => cut(cluster, agent, API_PORTS, 'both'),
    undo: (agent) => heal(cluster, agent),
  },
  {
    name: 'gets no answers of the API',
    strike: (agent) => cut(cluster, agent, API_PORTS, 'answers'),
    undo: (agent) => heal(cluster, agent),
  },
];

test('a pod with an identity and a claim for one pod moves when its agent is lost, and never runs twice', async () => {
  await using namespace = await cluster.namespace();
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gantry-moving-'));
  stack.defer(() => rm(folder, { recursive: true }));
  await cluster.create(PERSISTENT_VOLUMES, '', sharedVolume(namespace.name, folder));
  stack.defer(() => cluster.mustKubectl(['delete', 'pv', namespace.name, '--wait=false']).then(() => undefined));
  const labels = [`io.kubernetes.pod.namespace=${namespace.name}`, 'io.kubernetes.container.name=main'];
  await using recorded = await recordContainerEvents(cluster, labels);
  await cluster.create(STATEFUL_SETS, namespace.name, writerSet(namespace.name));
  const readyPod = async () => {
    const pod = await cluster.get(PODS, namespace.name, 'db-0');
    return isReady(pod) ? pod : undefined;
  };
  const uids: string[] = [];
  let pod = await eventually('the pod is ready', 120_000, readyPod);
  for (const { name, strike, undo } of FAULTS) {
    const [before, lost] = [uidOf(pod), pod.spec?.nodeName ?? ''];
    uids.push(before);
    const agent = await cluster.agentOf(lost);
    await strike(agent);
    pod = await eventually(`the agent ${name}, and the pod has a successor`, 180_000, async () => {
      const found = await readyPod();
      return found !== undefined && uidOf(found) !== before ? found : undefined;
    });
    expect(pod.spec?.nodeName).not.toBe(lost);
    await undo(agent);
    await cluster.untilNodesReady(2);
  }
  uids.push(uidOf(pod));
  await cluster.mustKubectl(['-n', namespace.name, 'scale', 'statefulset/db', '--replicas=0']);
  await eventually('the engine has reported all ends', 90_000, () => recorded.events().length >= 2 * uids.length);
  // Each has ended by itself before the next has started. An agent that came back has started none.
  expect(recorded.events().map(({ what, podUid, exitCode }) => [what, podUid, exitCode])).toEqual(
    uids.flatMap((uid) => [
      ['start', uid, ''],
      ['die', uid, '0'],
    ]),
  );
  const lines = (await readFile(join(folder, 'log'), 'utf8')).trimEnd().split('\n');
  const turns = lines.filter((line, index) => line !== lines[index - 1]);
  expect(turns).toEqual(uids.flatMap((uid) => [`start ${uid}`, uid, `end ${uid}`]));
});

/** GANTRY_FENCE_AFTER_SECONDS, from the beginning of an agent's last heartbeat on, which takes up to 2 s. */
const FENCE_AFTER_MS = 30_000;
const HEARTBEAT_MS = 2_000;

const PATIENT: NonNullable<Pod['spec']> = {
  tolerations: STAYING,
  containers: [
    {
      name: 'main',
      image: 'busybox:1.36',
      command: ['sh', '-c', "trap 'exit 0' TERM; while :; do sleep 0.1; done"],
    },
  ],
};

test('an agent that is cut off stops its pods that run at most once after a while, and starts them when it is connected', async () => {
  await using namespace = await cluster.namespace();
  await using recorded = await recordContainerEvents(cluster, [`io.kubernetes.pod.namespace=${namespace.name}`]);
  const labels = { app: 'patient' };
  await cluster.create(STATEFUL_SETS, namespace.name, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'patient' },
    spec: {
      replicas: 1,
      serviceName: 'patient',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: PATIENT },
    },
  });
  const ready = async (name: string) => {
    const pod = await cluster.get(PODS, namespace.name, name);
    return isReady(pod) ? pod : undefined;
  };
  const before = await eventually('the pod is ready', 120_000, () => ready('patient-0'));
  await cluster.create(PODS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'other' },
    spec: { ...PATIENT, nodeName: before.spec?.nodeName },
  });
  await eventually('a pod without an identity is ready', 120_000, () => ready('other'));
  const agent = await cluster.agentOf(before.spec?.nodeName ?? '');
  // The last heartbeat before the cut is this one or a later one.
  const { spec: lease } = await cluster.get(LEASES, 'kube-node-lease', before.spec?.nodeName ?? '');
  await cut(cluster, agent, API_PORTS);
  const ends = () => recorded.events().filter(({ what }) => what === 'die');
  await eventually('it is stopped', 120_000, () => ends().length > 0);
  expect(Date.now() - Date.parse(lease?.renewTime ?? '')).toBeGreaterThan(FENCE_AFTER_MS - HEARTBEAT_MS);
  await heal(cluster, agent);
  await cluster.untilNodesReady(2);
  const again = await eventually('it is ready again', 120_000, async () => {
    const pod = await ready('patient-0');
    return pod?.status?.containerStatuses?.[0]?.restartCount === 1 ? pod : undefined;
  });
  expect(uidOf(again)).toBe(uidOf(before));
  // It was asked to end. The other one has run all the time.
  const stopped = ends().filter(({ container }) => container === 'main');
  expect(stopped.map(({ podUid, exitCode }) => [podUid, exitCode])).toEqual([[uidOf(before), '0']]);
});
