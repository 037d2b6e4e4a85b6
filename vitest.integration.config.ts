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

// The real thing: etcd from the tools' cache, Docker, and one cluster started by the project's own scripts.
export default defineConfig({
  test: {
    fileParallelism: false,
    sequence: { sequencer: ByName },
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: 'parts',
          include: ['{packages,services}/*/src/**/*.integration.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'cluster',
          include: ['integration-tests/src/**/*.integration.test.ts'],
          globalSetup: ['integration-tests/src/harness/global-setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          fileParallelism: false,
          // Of tests that say that they may run together: the conformance suite's.
          maxConcurrency: 8,
        },
      },
    ],
  },
});
