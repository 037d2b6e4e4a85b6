export { buildImage } from './build-image.ts';
export { freePort } from './free-port.ts';
export { type GrowingInput, MAX_EXCESS, measureGrowth } from './growth.ts';
export { ManualClock } from './manual-clock.ts';
export { optionsOrExit } from './options-or-exit.ts';
export { testSeed } from './test-seed.ts';
