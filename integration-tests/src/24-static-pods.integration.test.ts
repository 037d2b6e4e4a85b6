/** Pods of files on a real engine: their mirrors, and their lives without API servers. */
import { EVENTS, PODS } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

const manifest = (text: string) => `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: static}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, "echo ${text}; while :; do sleep 0.1; done"]
      env: [{name: UID_OF_POD, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}]
`;

test('a static pod has a mirror, runs on without API servers and through a restart of its agent, and ends with its file', async () => {
  const node = (await cluster.nodes())[0]?.metadata.name ?? '';
  const number = node.slice(node.lastIndexOf('-') + 1);
  const agent = (await cluster.containers('agent')).find(({ name }) => name.endsWith(`-${number}`))?.id ?? '';
  const folder = `/var/lib/gantry/nodes/${node}/static-pods`;
  const inAgent = async (script: string, input = '') => {
    const { code, stderr } = await runProgram('docker', ['exec', '-i', agent, 'sh', '-c', script], { input });
    expect([code, stderr]).toEqual([0, '']);
  };
  onTestFinished(() => inAgent(`rm -f ${folder}/web.yaml ${folder}/bad.yaml`));
  const name = `web-${node}`;
  const running = () =>
    cluster.podContainers([`label=io.kubernetes.pod.name=${name}`, 'label=io.kubernetes.container.name=main']);
  const mirror = async () => await cluster.get(PODS, 'default', name);
  /** A container that runs has not necessarily written yet. */
  const untilLogged = (text: string) =>
    eventually(`the log is ${text}`, PATIENCE_MS, async () => (await cluster.mustKubectl(['logs', name])) === text);

  await inAgent(`cat > ${folder}/web.yaml`, manifest('first'));
  await inAgent(`cat > ${folder}/bad.yaml`, 'kind: Service');
  await eventually(
    'the mirror shows that the pod runs',
    PATIENCE_MS,
    async () => (await mirror()).status?.phase === 'Running',
  );
  const [first] = await running();
  const shown = await mirror();
  const hash = shown.metadata.annotations?.['kubernetes.io/config.hash'];
  expect(shown.metadata.annotations).toMatchObject({
    'kubernetes.io/config.mirror': hash,
    'kubernetes.io/config.source': 'file',
  });
  expect(shown.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: node, controller: true }]);
  await untilLogged('first\n');
  expect(await cluster.mustKubectl(['exec', name, '--', 'sh', '-c', 'echo $UID_OF_POD'])).toBe(`${hash}\n`);
  await eventually('kubectl finds the Events of the pod behind its mirror', PATIENCE_MS, async () =>
    (await cluster.mustKubectl(['describe', 'pod', name])).includes('Container started'),
  );
  await eventually('the bad file is reported', PATIENCE_MS, async () =>
    (await cluster.list(EVENTS, 'default')).some(
      ({ reason, message }) => reason === 'InvalidStaticPod' && message?.includes('bad.yaml') === true,
    ),
  );

  await cluster.mustKubectl(['delete', 'pod', name, '--wait=false']);
  await eventually('the mirror is made again', PATIENCE_MS, async () => {
    const { metadata, status } = await mirror();
    return metadata.uid !== shown.metadata.uid && status?.phase === 'Running';
  });
  expect(await running()).toEqual([first]);

  await cluster.compose(['stop', '-t', '2', 'apiserver']);
  try {
    await inAgent(`cat > ${folder}/web.yaml`, manifest('second'));
    await eventually('the changed file runs', PATIENCE_MS, async () => {
      const now = await running();
      return now.length === 1 && now[0] !== first;
    });
    const second = await running();
    await cluster.docker(['restart', '-t', '2', agent]);
    await inAgent(`cat > ${folder}/web.yaml`, manifest('third'));
    await eventually('an agent that has found no API server runs the next file', PATIENCE_MS, async () => {
      const now = await running();
      return now.length === 1 && now[0] !== second[0];
    });
  } finally {
    await cluster.compose(['start', 'apiserver']);
  }
  await cluster.untilNodesReady(2);
  await eventually('the mirror shows the third file', PATIENCE_MS, async () => {
    const { metadata, status } = await mirror();
    return metadata.annotations?.['kubernetes.io/config.hash'] !== hash && status?.phase === 'Running';
  });
  await untilLogged('third\n');

  await inAgent(`rm ${folder}/web.yaml ${folder}/bad.yaml`);
  await eventually('pod and mirror are gone', PATIENCE_MS, async () => {
    const pods = await cluster.list(PODS, 'default');
    return (await running()).length === 0 && pods.every(({ metadata }) => metadata.name !== name);
  });
});
