// `npm run mutants -- FOLDER`: changes code that protects something, piece by piece, and expects a unit test to fail.
const FOLDERS = {
  quota: {
    at: 'services/apiserver/src/admission/resource-quota/**/*.ts',
    tests: ['services/apiserver/src/admission'],
    break: 63,
  },
  authorisation: {
    at: 'services/apiserver/src/auth/authz/{acts-for,authorizer,escalation-check,node-rules}.ts',
    tests: ['services/apiserver/src/auth'],
    break: 62,
  },
  fences: {
    at: 'packages/etcd/src/election/*.ts',
    tests: ['packages/etcd/src'],
    break: 80,
  },
  writes: {
    at: 'services/apiserver/src/registry/{objects/{preconditions,deletion,metadata},writing/{fences,attempts,committer}}.ts',
    tests: ['services/apiserver/src/registry'],
    break: 93,
  },
  volumes: {
    at: 'services/agent/src/volumes/volume-types/*.ts',
    tests: ['services/agent/src/volumes'],
    break: 82,
  },
};

const name = process.env.GANTRY_MUTANTS || Object.keys(FOLDERS)[0];
const folder = FOLDERS[name];
if (folder === undefined) throw new Error(`no folder ${name}; there are: ${Object.keys(FOLDERS).join(', ')}`);

process.env.GANTRY_MUTANT_TESTS = folder.tests.map((path) => `${path}/**/*.test.ts`).join();

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutants.config.ts', related: false },
  mutate: [folder.at, '!**/*.test.ts', '!**/testing/**'],
  inPlace: false,
  ignorePatterns: ['.gantry', '**/dist', '**/dist-tools', '**/bundle', '.wireit', 'docs'],
  incremental: true,
  incrementalFile: `.gantry/mutants-${name}.json`,
  tempDirName: '.gantry/stryker',
  // Code that runs when a module is loaded: each such mutant would need all tests, and these are constants.
  ignoreStatic: true,
  concurrency: 1,
  thresholds: { break: folder.break },
  reporters: ['clear-text', 'progress'],
  checkers: [],
};
