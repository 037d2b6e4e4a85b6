import base from './vitest.config.ts';

/** For `npm run mutants`: the unit tests that are to notice the mutants of a folder. */
export default { ...base, test: { ...base.test, include: (process.env['GANTRY_MUTANT_TESTS'] ?? '').split(',') } };
