import { expect, test } from 'vitest';
import { Cluster, httpStatus } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();

test('after npm run up all nodes are Ready', async () => {
  await cluster.untilNodesReady(2);
});

test('the nginx Deployment of the sample runs as two real containers', async () => {
  const deployment = await cluster.untilRolledOut('default', 'nginx-deployment');
  expect(deployment.status).toMatchObject({ replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 });
  const containers = await cluster.podContainers([
    'label=io.kubernetes.pod.namespace=default',
    'label=io.kubernetes.container.name=nginx',
  ]);
  expect(containers.length).toBe(2);
});

test('each pod answers HTTP 200 on its own address', async () => {
  const pods = await cluster.pods('default', 'app=nginx');
  expect(pods.length).toBe(2);
  for (const pod of pods) {
    const code = await eventually(`${pod.metadata.name} answers`, 60_000, () =>
      httpStatus(`http://${pod.status?.podIP}/`),
    );
    expect(code).toBe(200);
  }
});

test('a second npm run up changes nothing and takes seconds', async () => {
  const before = (await cluster.containers()).filter(({ service }) => service !== 'pki');
  const result = await runProgram(`${cluster.root}/deploy/bin/up`, [], {
    env: { GANTRY_HOME: cluster.home },
    timeoutMs: 600_000,
  });
  expect(result.code, result.stderr + result.stdout).toBe(0);
  expect((await cluster.containers()).filter(({ service }) => service !== 'pki')).toEqual(before);
});

test('status says that all is well', async () => {
  // On a busy machine a heartbeat of a node may be late, which is a problem until the next one.
  await eventually('there is no problem', 120_000, async () => {
    const result = await runProgram(`${cluster.root}/deploy/bin/status`, ['--json'], {
      env: { GANTRY_HOME: cluster.home },
    });
    expect(JSON.parse(result.stdout)).toMatchObject({ problems: [], api: { state: 'ready' } });
    expect(result.code).toBe(0);
    return true;
  });
});
