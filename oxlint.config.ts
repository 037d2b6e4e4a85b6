// Lint with type information, by the compiler of the build. Biome formats.
import { defineConfig } from 'oxlint';

const TESTS = ['**/*.test.{ts,tsx}', '**/testing/**/*.ts', 'integration-tests/**/*.ts', 'bench/**/*.ts'];

const NO_DEFAULT_EXPORT = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export by name.',
};
const NO_EXPORT_ALL = {
  // Generated files are exported whole: a list of their names would be a second copy.
  selector: 'ExportAllDeclaration:not([source.value=/\\bgenerated\\b/])',
  message: 'Name each export in index.ts.',
};
const NO_TOP_LEVEL_LET = {
  selector:
    "Program > VariableDeclaration[kind='let'], Program > ExportNamedDeclaration > VariableDeclaration[kind='let']",
  message: 'No module state: pass it as an argument.',
};
const NO_BARE_ERROR = {
  selector: "ThrowStatement > NewExpression[callee.name='Error']",
  message: 'Throw an error class with its own code or name.',
};
const NO_AMBIENT_DATE = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: 'Take a Clock as an argument.',
};
const NO_ENV = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'The environment is read once, in config.ts.',
};
const NO_SPREAD_PUSH = {
  selector: "CallExpression[callee.property.name='push'] > SpreadElement",
  message: 'Spread puts each element on the stack: use append of @gantry/base.',
};
const NO_SCATTERED_METRICS = {
  selector: "CallExpression[callee.object.name='metrics'][callee.property.name=/^(counter|gauge|histogram|tallies)$/]",
  message: 'Create metrics in meters.ts, from which docs/metrics.md is generated.',
};
const SHAPE = [NO_DEFAULT_EXPORT, NO_EXPORT_ALL, NO_TOP_LEVEL_LET, NO_SPREAD_PUSH];

const AMBIENT = [
  { object: 'Date', property: 'now', message: 'Take a Clock as an argument.' },
  { object: 'Math', property: 'random', message: 'Take a Random as an argument.' },
  { object: 'crypto', property: 'randomUUID', message: 'Take a NewUid as an argument.' },
];
/** Of tests: each runs. */
const EVERY_TEST = ['describe', 'it', 'test'].flatMap((object) =>
  ['only', 'skip', 'todo'].map((property) => ({ object, property, message: 'Every test runs.' })),
);
const TIMERS = ['setTimeout', 'setInterval'].map((name) => ({
  name,
  message: 'Take a Clock as an argument.',
}));

/** Files that decide: no I/O, no clock, nothing asynchronous. */
const PURE = [
  '**/plan.ts',
  'services/controller-manager/src/controllers/*/*.ts',
  'services/controller-manager/src/libraries/**/*.ts',
  'services/scheduler/src/explain.ts',
  'services/scheduler/src/framework/*.ts',
  'services/scheduler/src/plugins/**/*.ts',
  'services/scheduler/src/preemption/*.ts',
];

export default defineConfig({
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  plugins: ['typescript'],
  jsPlugins: ['./deploy/tools/restricted-syntax.ts'],
  categories: { correctness: 'off' },
  ignorePatterns: [
    '**/dist/**',
    '**/dist-tools/**',
    '**/bundle/**',
    '**/*.{js,cjs,mjs}',
    '**/*.config.*',
    '**/*.d.json.ts',
    '**/gen/**',
    '**/generated/**',
    '.gantry/**',
    'integration-tests/golden/**',
  ],
  rules: {
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/await-thenable': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/only-throw-error': ['error', { allowThrowingUnknown: true, allowThrowingAny: true }],
    'typescript/no-unnecessary-type-assertion': 'error',
    'typescript/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true, allowThrowingAny: true }],
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'no-console': 'error',
    'no-empty': 'error',
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'prefer-const': 'error',
    'no-var': 'error',
    'max-lines-per-function': ['error', { max: 90, skipBlankLines: true, skipComments: true }],
    'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
    'max-depth': ['error', 5],
    'max-params': ['error', 7],
    'no-restricted-properties': ['error', ...AMBIENT],
    'no-restricted-globals': ['error', ...TIMERS],
    'restricted/syntax': ['error', ...SHAPE, NO_BARE_ERROR, NO_AMBIENT_DATE, NO_ENV, NO_SCATTERED_METRICS],
  },
  overrides: [
    {
      files: ['**/{*-,}meters.ts', 'services/controller-manager/src/metrics/*.ts'],
      rules: { 'restricted/syntax': ['error', ...SHAPE, NO_BARE_ERROR, NO_AMBIENT_DATE, NO_ENV] },
    },
    {
      // main.ts reads the environment once and passes it to config.ts.
      files: ['**/config.ts', '**/main.ts'],
      rules: { 'restricted/syntax': ['error', ...SHAPE, NO_BARE_ERROR, NO_AMBIENT_DATE] },
    },
    {
      files: ['packages/base/**/*.ts'],
      rules: {
        'no-restricted-properties': 'off',
        'no-restricted-globals': 'off',
        'restricted/syntax': ['error', ...SHAPE, NO_ENV],
      },
    },
    {
      // Plans and what they are made of are pure functions of values. In a controller's folder that is every file but
      // controller.ts and *.shell.ts.
      files: PURE,
      excludeFiles: ['**/controller.ts', '**/*.shell.ts', '**/*.test.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            paths: ['client', 'etcd', 'service', 'apiserver'].map((name) => ({
              name: `@gantry/${name}`,
              message: 'A plan is pure: read and write in controller.ts.',
            })),
            patterns: [{ group: ['node:*', './controller.ts', './*.shell.ts'], message: 'A plan is pure.' }],
          },
        ],
        'restricted/syntax': [
          'error',
          ...SHAPE,
          NO_BARE_ERROR,
          NO_AMBIENT_DATE,
          NO_ENV,
          { selector: ':function[async=true], AwaitExpression', message: 'A plan is pure.' },
        ],
      },
    },
    {
      files: [...TESTS, '**/tools/**/*.ts'],
      rules: {
        'no-restricted-properties': ['error', ...EVERY_TEST],
        'no-restricted-globals': 'off',
        'restricted/syntax': ['error', NO_EXPORT_ALL],
        'max-lines': 'off',
        'max-lines-per-function': 'off',
      },
    },
  ],
});
