import { must } from '@gantry/base';
import { PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode } from '../testing/start-node.ts';

it('probes of a pod are counted over restarts of its containers, until it has ended', async () => {
  const node = await startNode({ behaviour: { exec: () => ({ exitCode: 0, output: '' }) } });
  const { metrics } = node.services.observers.probes;
  const successes = () => metrics.totals()[0]?.successes ?? 0;
  const status = () => node.client.all(PODS)[0]?.status;
  const main = async () => must((await node.hollow.observer.listPods(OWNER))[0]?.containers[0], 'a container').id;

  const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
  const containers = [container('main', { readinessProbe })];
  const { metadata } = await node.put(pod({ containers, restartPolicy: 'OnFailure' }));
  const { uid = '', name, namespace } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await soon(node, successes).toBeGreaterThan(2);
  expect(metrics.totals()).toMatchObject([{ pod: { uid, name, namespace }, container: 'main', kind: 'readiness' }]);

  const before = successes();
  node.hollow.exit(await main(), 1);
  await soon(node, () => status()?.containerStatuses?.[0]?.restartCount).toBe(1);
  await soon(node, successes).toBeGreaterThan(before);

  node.hollow.exit(await main(), 0);
  await soon(node, () => status()?.phase).toBe('Succeeded');
  expect(metrics.totals()).toEqual([]);
});

it('probes of a pod that is removed are counted no more', async () => {
  const node = await startNode({ behaviour: { exec: () => ({ exitCode: 1, output: 'no' }) } });
  const { metrics } = node.services.observers.probes;
  const readinessProbe = { exec: { command: ['false'] }, periodSeconds: 1 };
  const { metadata } = await node.put(pod({ containers: [container('main', { readinessProbe })] }));
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  const stop = new AbortController();
  node.work(uid, stop.signal);
  await soon(node, () => metrics.totals()[0]?.failures).toBeGreaterThan(2);
  stop.abort();
  await soon(node, () => metrics.totals()).toEqual([]);
});
