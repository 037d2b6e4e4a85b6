/** Resources of a pod as a whole: its containers are held to them together. */
import { type Container as PodContainer, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

const container = (name: string, change: Partial<PodContainer> = {}): PodContainer => ({
  name,
  image: 'busybox:1.36',
  ...change,
});

const podOf = (name: string, spec: Omit<NonNullable<Pod['spec']>, 'terminationGracePeriodSeconds'>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 0, ...spec },
});

/** Whether pods have control groups: an engine leaves its own to systemd where that runs. */
const hasGroups = async () => (await cluster.docker(['info', '-f', '{{.CgroupDriver}}'])).trim() === 'cgroupfs';

test('a pod that uses more memory than it may loses a container for that, though each may use as much', async () => {
  await using namespace = await cluster.namespace();
  const fill = 'x=$(head -c 45000000 /dev/zero | tr "\\0" x); sleep 3600';
  const command = ['sh', '-c', fill];
  const containers = [container('one', { command }), container('two', { command })];
  const spec = { resources: { limits: { memory: '64Mi' } }, restartPolicy: 'Never', containers };
  await cluster.create(PODS, namespace.name, podOf('greedy', spec));
  if (!(await hasGroups())) {
    const refused = await eventually('the pod is refused', PATIENCE_MS, async () => {
      const { status } = await cluster.get(PODS, namespace.name, 'greedy');
      return status?.phase === 'Failed' ? status : undefined;
    });
    expect(refused).toMatchObject({ reason: 'PodLevelResourcesNotSupported' });
    expect(refused.message).toContain('since its engine leaves control groups to systemd');
    return;
  }
  const ended = await eventually('a container is killed', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PODS, namespace.name, 'greedy');
    return status?.containerStatuses?.find(({ state }) => state?.terminated !== undefined);
  });
  expect(ended.state?.terminated).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
});
