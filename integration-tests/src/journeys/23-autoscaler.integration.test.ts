import {
  type Deployment,
  DEPLOYMENTS,
  type HorizontalPodAutoscaler,
  HORIZONTAL_POD_AUTOSCALERS,
} from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const WAIT_MS = 180_000;

const cluster = new Cluster();

/** Uses four times what it requests, until there is a file. */
const BURN = 'while [ ! -e /tmp/quiet ]; do i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; done; exec sleep 3600';

const burner: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'burner' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'burner' } },
    template: {
      metadata: { labels: { app: 'burner' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sh', '-c', BURN],
            resources: { requests: { cpu: '50m' }, limits: { cpu: '200m' } },
          },
        ],
      },
    },
  },
};

/** Adds and removes at once. */
const autoscaler: HorizontalPodAutoscaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'burner' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'burner' },
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
    behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
  },
};

test('an autoscaler follows real CPU load up and down, and kubectl top shows it', async () => {
  await using namespace = await cluster.namespace();
  const inside = ['-n', namespace.name];
  await cluster.create(DEPLOYMENTS, namespace.name, burner);
  await cluster.create(HORIZONTAL_POD_AUTOSCALERS, namespace.name, autoscaler);
  const replicas = async () => (await cluster.get(DEPLOYMENTS, namespace.name, 'burner')).spec?.replicas;
  await eventually('the Deployment has 3 replicas', WAIT_MS, async () => (await replicas()) === 3);
  await cluster.untilRolledOut(namespace.name, 'burner');

  const names = (await cluster.pods(namespace.name)).map(({ metadata }) => metadata.name ?? '').sort();
  const nodes = (await cluster.nodes()).map(({ metadata }) => metadata.name ?? '').sort();
  for (const version of cluster.kubectls) {
    const top = async (...args: readonly string[]) =>
      (await cluster.mustKubectl(['top', ...args, '--no-headers'], { version }))
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/));
    const shown = await eventually(`kubectl ${version.name} top shows all pods`, WAIT_MS, async () => {
      const rows = await top('pods', ...inside, '-l', 'app=burner', '--containers');
      return rows.length === 3 ? rows : undefined;
    });
    expect(shown.map(([pod, container]) => [pod, container]).sort()).toEqual(names.map((name) => [name, 'main']));
    for (const [, , cpu = '', memory = ''] of shown) {
      expect(cpu).toMatch(/^\d+m$/);
      expect(Number.parseInt(cpu, 10)).toBeGreaterThan(0);
      expect(Number.parseInt(cpu, 10)).toBeLessThan(400);
      expect(memory).toMatch(/^\d+Mi$/);
    }
    // Another API server may have read the metrics a moment earlier.
    await eventually(`kubectl ${version.name} top shows the pods of all namespaces`, WAIT_MS, async () => {
      const everywhere = await top('pods', '-A');
      return everywhere.filter(([where]) => where === namespace.name).length === 3;
    });
    await eventually(`kubectl ${version.name} top shows all nodes`, WAIT_MS, async () => {
      const rows = await top('nodes');
      expect(rows.map(([node]) => node).sort()).toEqual(nodes);
      for (const [, , percent = ''] of rows) expect(percent).toMatch(/^\d+%$/);
      return true;
    });
  }

  const ofMain = [`label=io.kubernetes.pod.namespace=${namespace.name}`, 'label=io.kubernetes.container.name=main'];
  const containers = await cluster.podContainers(ofMain);
  expect(containers).toHaveLength(3);
  for (const id of containers) await cluster.docker(['exec', id, 'touch', '/tmp/quiet']);
  await eventually('the Deployment has 1 replica again', WAIT_MS, async () => (await replicas()) === 1);

  await eventually('its status and its Events say so', WAIT_MS, async () => {
    const described = await cluster.mustKubectl(['describe', 'hpa', 'burner', ...inside]);
    expect(described).toMatch(/ScalingActive\s+True\s+ValidMetricFound/);
    expect(described).toContain('New size: 3; reason: cpu resource utilization (percentage of request) above target');
    expect(described).toContain('New size: 1; reason: All metrics below target');
    return true;
  });
});
