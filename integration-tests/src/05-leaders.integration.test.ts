import { checkFences } from '@gantry/chaos-checker';
import { freezeContainer } from '@gantry/base';
import { prepareContainers } from '@gantry/etcd/testing';
import { DEPLOYMENTS } from '@gantry/objects';
import { afterEach, describe, expect, test } from 'vitest';
import { Cluster, type Container, nginxDeployment } from './harness/cluster.ts';
import { currentRevision, electionsAt, recordHistory } from './harness/etcd-console.ts';
import { eventually } from './harness/eventually.ts';
import { type Component, COMPONENTS, leaderOf } from './harness/leaders.ts';
import { API_PORTS, cut, heal } from './harness/network-cuts.ts';

const cluster = new Cluster();

afterEach(async () => {
  for (const { service } of COMPONENTS) {
    for (const container of await cluster.containers(service)) {
      if (container.state === 'running') await heal(cluster, container);
      if (container.state === 'paused') await cluster.docker(['unpause', container.id]);
      if (container.state === 'exited') await cluster.docker(['start', container.id]);
    }
  }
});

/** Waits until another container leads. */
async function successorOf(leader: Container, component: Component): Promise<void> {
  await eventually('another leads', 120_000, async () => (await leaderOf(cluster, component)).id !== leader.id);
}

interface Fault {
  readonly name: string;
  readonly strike: (leader: Container, component: Component) => Promise<unknown>;
  /** Once another one leads. */
  readonly undo?: (leader: Container) => Promise<unknown>;
}

const FAULTS: readonly Fault[] = [
  { name: 'SIGKILL', strike: ({ id }) => cluster.docker(['kill', id]) },
  { name: 'SIGTERM', strike: ({ id }) => cluster.docker(['kill', '-s', 'TERM', id]) },
  {
    name: 'a pause longer than its lease',
    strike: async ({ id }) => await freezeContainer((await prepareContainers()).container.getById(id)),
    undo: ({ id }) => cluster.docker(['unpause', id]),
  },
  {
    name: 'a cut from all API servers',
    strike: (leader, { service }) => cut(cluster, leader, API_PORTS, service === 'scheduler' ? 'answers' : 'both'),
  },
];

describe.each(COMPONENTS)('the leading $service', (component) => {
  test.each(FAULTS)(
    'struck by $name in a rollout: it ends right, and no write of the old epoch lands',
    async ({ strike, undo }) => {
      await using namespace = await cluster.namespace();
      await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 4));
      await cluster.untilRolledOut(namespace.name, 'web');
      const from = await currentRevision(cluster);
      await using recorded = await recordHistory(cluster, from + 1);
      const elections = await electionsAt(cluster, from);
      const leader = await leaderOf(cluster, component);

      await cluster.mustKubectl(['-n', namespace.name, 'set', 'image', 'deployment/web', 'nginx=nginx:1.9.1']);
      await strike(leader, component);
      // Awaited before all else: a leader that goes on may be elected again later.
      await successorOf(leader, component);
      await undo?.(leader);
      await cluster.untilRolledOut(namespace.name, 'web');

      await eventually('only the new pods are left', 120_000, async () => {
        const pods = await cluster.pods(namespace.name);
        expect(pods.map((pod) => pod.spec?.containers[0]?.image)).toEqual(Array(4).fill('nginx:1.9.1'));
        return true;
      });
      const history = await recorded.until(await currentRevision(cluster));
      const { checked, violations } = checkFences(history, elections);
      expect(checked).toBeGreaterThan(0);
      expect(violations).toEqual([]);
    },
  );
});
