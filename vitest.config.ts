import { defineConfig } from 'vitest/config';

// Unit tests: beside the code, no daemon, no network. What touches etcd or Docker is in integration-tests.
export default defineConfig({
  ssr: { resolve: { conditions: ['gantry-source'], externalConditions: ['gantry-source'] } },
  resolve: { conditions: ['gantry-source'] },
  test: {
    include: [
      '{proto,packages/*,services/*,deploy,integration-tests,bench}/src/**/*.test.ts',
      'deploy/tools/**/*.test.ts',
    ],
    exclude: ['**/*.integration.test.ts', '**/node_modules/**', '**/dist/**'],
    pool: 'threads',
    // They end within milliseconds, or, of those that try many cases, seconds; on a machine that does much else, in ten times that.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // The default of one second depends on the speed of the machine.
    expect: { poll: { timeout: 30_000 } },
    isolate: false,
    reporters: ['default', './deploy/tools/running-tests.ts'],
  },
});
