// `npm run mutants -- FOLDER`: changes code that protects something, piece by piece, and expects a unit test to fail.
const FOLDERS = {
  quota: {
    at: 'services/apiserver/src/admission/resource-quota',
    tests: ['services/apiserver/src/admission'],
    break: 62,
  },
};

const name = process.env.GANTRY_MUTANTS || Object.keys(FOLDERS)[0];
const folder = FOLDERS[name];
if (folder === undefined) throw new Error(`no folder ${name}; there are: ${Object.keys(FOLDERS).join(', ')}`);

process.env.GANTRY_MUTANT_TESTS = folder.tests.map((path) => `${path}/**/*.test.ts`).join();

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutants.config.ts', related: false },
  mutate: [`${folder.at}/**/*.ts`, `!${folder.at}/**/*.test.ts`, `!${folder.at}/**/testing/**`],
  inPlace: false,
  ignorePatterns: ['.gantry', '**/dist', '**/dist-tools', '.wireit', 'docs'],
  incremental: true,
  incrementalFile: `.gantry/mutants-${name}.json`,
  tempDirName: '.gantry/stryker',
  concurrency: 1,
  thresholds: { break: folder.break },
  reporters: ['clear-text', 'progress'],
  checkers: [],
};
