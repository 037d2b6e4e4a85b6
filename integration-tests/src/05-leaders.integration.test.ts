import { checkFences } from '@gantry/chaos-checker';
import { freezeContainer, prepareContainers } from '@gantry/etcd/testing';
import { DEPLOYMENTS } from '@gantry/objects';
import { afterEach, describe, expect, test } from 'vitest';
import { Cluster, type Container, nginxDeployment } from './harness/cluster.ts';
import { currentRevision, electionsAt, recordHistory } from './harness/etcd-console.ts';
import { eventually } from './harness/eventually.ts';
import { type Component, COMPONENTS, leaderOf } from './harness/leaders.ts';

const cluster = new Cluster();

afterEach(async () => {
  for (const { service } of COMPONENTS) {
    for (const container of await cluster.containers(service)) {
      if (container.state === 'running') await inNetworkOf(container, ['nft', 'destroy', 'table', 'inet', 'cut']);
      if (container.state === 'paused') await cluster.docker(['unpause', container.id]);
      if (container.state === 'exited') await cluster.docker(['start', container.id]);
    }
  }
});

/** Runs a command as root in the network namespace of a container. */
async function inNetworkOf({ id }: Container, command: readonly string[]): Promise<void> {
  const rights = ['--cap-drop', 'ALL', '--cap-add', 'NET_ADMIN', '--user', '0'];
  const image = await cluster.serviceImage();
  await cluster.docker(['run', '--rm', '--network', `container:${id}`, ...rights, image, ...command]);
}

/** Drops packets between a container and the API servers: those of both directions, or only the answers. */
async function cutFromApi(container: Container, direction: 'both' | 'answers'): Promise<void> {
  const answers = 'chain answers { type filter hook input priority 0; tcp sport { 6443, 6444 } drop; }';
  const requests = 'chain requests { type filter hook output priority 0; tcp dport { 6443, 6444 } drop; }';
  const chains = direction === 'both' ? [answers, requests] : [answers];
  await inNetworkOf(container, ['nft', ['table inet cut {', ...chains, '}'].join('\n')]);
}

/** Waits until another container leads. */
async function successorOf(leader: Container, component: Component): Promise<void> {
  await eventually('another leads', 120_000, async () => (await leaderOf(cluster, component)).id !== leader.id);
}

const FAULTS = [
  { name: 'SIGKILL', strike: (leader: Container) => cluster.docker(['kill', leader.id]) },
  { name: 'SIGTERM', strike: (leader: Container) => cluster.docker(['kill', '-s', 'TERM', leader.id]) },
  {
    name: 'a pause longer than its lease',
    strike: async (leader: Container, component: Component) => {
      await freezeContainer((await prepareContainers()).container.getById(leader.id));
      // However long etcd takes on this machine to end the lease: until then the leader could go on with it.
      await successorOf(leader, component);
      await cluster.docker(['unpause', leader.id]);
    },
  },
  {
    name: 'a cut from all API servers',
    strike: async (leader: Container, component: Component) => {
      await cutFromApi(leader, component.service === 'scheduler' ? 'answers' : 'both');
      await successorOf(leader, component);
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
      await strike(leader, component);
      await cluster.untilRolledOut(namespace.name, 'web');
      await successorOf(leader, component);

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
