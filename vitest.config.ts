import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest. They start first, so that no worker is left with one of them while the others have ended. */
const LONGEST = [
  'services/controller-manager/src/testing/simulation/simulation.test.ts',
  'services/apiserver/src/testing/parsers/parsers.test.ts',
  'services/apiserver/src/testing/golden.test.ts',
  'services/apiserver/src/testing/watches.test.ts',
  'packages/kinds/src/mutations.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`/${name}`));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// Unit tests: beside the code, no daemon, no network. What touches etcd or Docker is in integration-tests.
export default defineConfig({
  ssr: { resolve: { conditions: ['gantry-source'], externalConditions: ['gantry-source'] } },
  resolve: { conditions: ['gantry-source'] },
  test: {
    include: [
      '{proto,packages/*,services/*,deploy,examples/*,integration-tests,bench}/src/**/*.test.ts',
      'services/console/web/src/**/*.test.ts',
      'deploy/tools/**/*.test.ts',
    ],
    exclude: ['**/*.integration.test.ts', '**/*.growth.test.ts', '**/node_modules/**', '**/dist/**'],
    pool: 'threads',
    // Vitest leaves one processor idle by default: of two, half of what there is.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    // They end within milliseconds, or, of those that try many cases, seconds; on a machine that does much else, in ten times that.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // The default of one second depends on the speed of the machine.
    expect: { poll: { timeout: 30_000 } },
    isolate: false,
    // What was transformed is kept on disk: a test starts in half the time.
    experimental: { fsModuleCache: true },
  },
});
