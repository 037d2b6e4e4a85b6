import { stripTypeScriptTypes } from 'node:module';
import { defineConfig, type Plugin } from 'vitest/config';
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

/** A page of the course is a test file: the code that it shows is what runs. */
const COURSE: Plugin = {
  name: 'course',
  enforce: 'pre',
  transform: (text, id) => {
    if (!/\/docs\/course\/[^/]+\.md$/.test(id)) return undefined;
    const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    return { code: stripTypeScriptTypes(blocks.join('\n')), map: null };
  },
};

// Unit tests: beside the code, no daemon, no network. What touches etcd or Docker is in integration-tests.
export default defineConfig({
  plugins: [COURSE],
  ssr: { resolve: { conditions: ['gantry-source'], externalConditions: ['gantry-source'] } },
  resolve: { conditions: ['gantry-source'] },
  test: {
    include: [
      '{proto,packages/*,services/*,deploy,examples/*,integration-tests,bench}/src/**/*.test.ts',
      'services/console/web/src/**/*.test.{ts,tsx}',
      'deploy/tools/**/*.test.ts',
      'docs/course/[0-9]*.md',
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
