export { ManualClock } from './manual-clock.ts';
export { testSeed } from './test-seed.ts';
