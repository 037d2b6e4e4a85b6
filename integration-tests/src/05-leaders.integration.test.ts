import { DEPLOYMENTS } from '@gantry/objects';
import { afterEach, describe, expect, test } from 'vitest';
import { Cluster, type Container, nginxDeployment } from './harness/cluster.ts';
import { currentRevision, electionsAt, recordHistory } from './harness/etcd-console.ts';
import { fencedWrites, staleWrites } from './harness/etcd-history.ts';
import { eventually } from './harness/eventually.ts';
import { COMPONENTS, leaderOf } from './harness/leaders.ts';

const cluster = new Cluster();
/** Longer than the lease of 2 s with whatever its holder may add to it. */
const PAUSE_MS = 6_000;

afterEach(async () => {
  for (const service of ['controller-manager', 'scheduler']) {
    for (const container of await cluster.containers(service)) {
      if (container.state === 'paused') await cluster.docker(['unpause', container.id]);
      if (container.state === 'exited') await cluster.docker(['start', container.id]);
    }
  }
});

const FAULTS = [
  { name: 'SIGKILL', strike: (leader: Container) => cluster.docker(['kill', leader.id]) },
  { name: 'SIGTERM', strike: (leader: Container) => cluster.docker(['kill', '-s', 'TERM', leader.id]) },
  {
    name: 'a pause longer than its lease',
    strike: async (leader: Container) => {
      await cluster.docker(['pause', leader.id]);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      await cluster.docker(['unpause', leader.id]);
    },
  },
] as const;

describe.each(COMPONENTS)('the leading $service', (component) => {
  test.each(FAULTS)(
    'struck by $name in a rollout: it ends right, and no write of the old epoch lands',
    async ({ strike }) => {
      await using namespace = await cluster.namespace();
      await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 4));
      await cluster.untilRolledOut(namespace.name, 'web');
      const from = await currentRevision(cluster);
      await using recorded = await recordHistory(cluster, from + 1);
      const elections = await electionsAt(cluster, from);
      const leader = await leaderOf(cluster, component);

      await cluster.mustKubectl(['-n', namespace.name, 'set', 'image', 'deployment/web', 'nginx=nginx:1.9.1']);
      await strike(leader);
      await cluster.untilRolledOut(namespace.name, 'web');
      const next = await eventually('another leads', 60_000, async () => {
        const found = await leaderOf(cluster, component);
        return found.id === leader.id ? undefined : found;
      });
      expect(next.id).not.toBe(leader.id);

      await eventually('only the new pods are left', 120_000, async () => {
        const pods = await cluster.pods(namespace.name);
        expect(pods.map((pod) => pod.spec?.containers[0]?.image)).toEqual(Array(4).fill('nginx:1.9.1'));
        return true;
      });
      const history = await recorded.until(await currentRevision(cluster));
      expect(fencedWrites(history).length).toBeGreaterThan(0);
      expect(staleWrites(history, elections)).toEqual([]);
    },
  );
});
