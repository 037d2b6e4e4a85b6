import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In the order of their names: what a cluster needs first is tested first. */
class ByName extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => (one.moduleId < other.moduleId ? -1 : 1));
  }
}

const resolve = { conditions: ['gantry-source'] };
const ssr = { resolve: { conditions: ['gantry-source'], externalConditions: ['gantry-source'] } };

const CLUSTER = {
  globalSetup: ['integration-tests/src/harness/sweep-containers.ts', 'integration-tests/src/harness/global-setup.ts'],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 60_000 } },
  // Of tests that say that they may run together: the conformance suite's and kubectl's.
  maxConcurrency: 8,
};

/** Files that leave the cluster's containers alone, and wait more than they compute: they run at the same time. */
const TOGETHER = ['15-kubectl', '16-clients', '18-count'].map(
  (name) => `integration-tests/src/${name}.integration.test.ts`,
);

// The real thing: etcd in containers, Docker, and one cluster started by the project's own scripts.
export default defineConfig({
  test: {
    reporters: ['default', './deploy/tools/running-tests.ts'],
    fileParallelism: false,
    sequence: { sequencer: ByName },
    projects: [
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
          fileParallelism: false,
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
          exclude: TOGETHER,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        resolve,
        ssr,
        test: {
          ...CLUSTER,
          name: 'cluster-together',
          include: TOGETHER,
          fileParallelism: true,
          maxWorkers: TOGETHER.length,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
