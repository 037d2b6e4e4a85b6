import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * `journeys` has files that stop no container of the cluster, make no Nodes and change nothing that pods of other namespaces notice, and
 * wait for pods more than they compute: several run at the same time. `together` has those that make objects of the cluster, such as
 * Nodes, and leave its containers alone: all of them run at the same time. All others have the cluster to themselves.
 */
const JOURNEYS = 'integration-tests/src/journeys/*.integration.test.ts';
const TOGETHER = 'integration-tests/src/together/*.integration.test.ts';
/** One computes while the other waits. With more of them, machines with two processors answer late. */
const JOURNEYS_AT_ONCE = 2;

/** They wait for containers, leases and packets most of the time. */
const PARTS_AT_ONCE = 2;

/** `npm run hosts`: it starts a Docker engine of its own, with a network namespace, which not every machine lets a program do. */
const HOSTS = 'integration-tests/src/26-hosts.integration.test.ts';
const withHosts = process.env['GANTRY_SEVERAL_HOSTS'] === '1';

/** `npm run upgrades`: it builds the image of another release, and replaces all services twice. */
const UPGRADE = 'integration-tests/src/28-upgrade.integration.test.ts';
const withUpgrade = process.env['GANTRY_UPGRADES'] === '1';

/** In the order of their names: what a cluster needs first is tested first. Of those that run at the same time, the largest come first. */
class ByName extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = await super.sort(files);
    const isOfAll = ({ project }: TestSpecification) => project.name === 'cluster';
    const byName = bySize.filter(isOfAll).toSorted((one, other) => (one.moduleId < other.moduleId ? -1 : 1));
    return [...byName, ...bySize.filter((file) => !isOfAll(file))];
  }

  /**
   * Files in turns, by name. Vitest's own division by a hash left one of two halves four minutes longer. The half that has the first file of
   * those that have the cluster to themselves does not have the first one of the others: what comes first is not the shortest.
   */
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 };
    const byName = files.toSorted((one, other) => (one.moduleId < other.moduleId ? -1 : 1));
    const inTurns = Map.groupBy(byName, ({ project }) => project.name);
    const own = [...inTurns].map(([name, all]) => {
      const first = name === 'cluster' ? index % count : index - 1;
      return all.filter((_, position) => position % count === first);
    });
    return await Promise.resolve(own.flat());
  }
}

const resolve = { conditions: ['gantry-source'] };
const ssr = { resolve: { conditions: ['gantry-source'], externalConditions: ['gantry-source'] } };

const CLUSTER = {
  globalSetup: ['integration-tests/src/harness/sweep-containers.ts', 'integration-tests/src/harness/global-setup.ts'],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 60_000 } },
  // Of tests that say that they may run together: kubectl's.
  maxConcurrency: 8,
};

// The real thing: etcd in containers, Docker, and one cluster started by the project's own scripts.
export default defineConfig({
  test: {
    fileParallelism: false,
    sequence: { sequencer: ByName },
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: 'growth',
          include: ['{packages,services}/*/{src,web/src}/**/*.growth.test.ts'],
          fileParallelism: false,
          testTimeout: 600_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'parts',
          globalSetup: ['integration-tests/src/harness/sweep-containers.ts'],
          include: ['{packages,services}/*/src/**/*.integration.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 60_000 } },
          // Names, networks and labels of what a file starts are its own, and it looks at nothing else's.
          fileParallelism: true,
          maxWorkers: PARTS_AT_ONCE,
          sequence: { groupOrder: 1 },
        },
      },
      {
        resolve,
        ssr,
        test: {
          ...CLUSTER,
          name: 'cluster',
          include: ['integration-tests/src/**/*.integration.test.ts'],
          exclude: [JOURNEYS, TOGETHER, ...(withHosts ? [] : [HOSTS]), ...(withUpgrade ? [] : [UPGRADE])],
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        resolve,
        ssr,
        test: {
          ...CLUSTER,
          name: 'cluster-journeys',
          include: [JOURNEYS],
          fileParallelism: true,
          maxWorkers: JOURNEYS_AT_ONCE,
          sequence: { groupOrder: 3 },
        },
      },
      {
        resolve,
        ssr,
        test: {
          ...CLUSTER,
          name: 'cluster-together',
          include: [TOGETHER],
          fileParallelism: true,
          maxWorkers: 3,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
