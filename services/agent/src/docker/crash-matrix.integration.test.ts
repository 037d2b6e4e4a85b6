import { testSeed } from '@gantry/base/testing';
import { type CrashShare, describeCrashMatrix } from '../testing/crash-matrix.ts';
import { dockerWorld } from './testing/docker-world.ts';

/** The number of lives that fit into half a minute. Each takes a few seconds, and four run at once. */
const LIVES = 8;

/**
 * `npm run crash-matrix` kills an agent after each call. Other runs kill agents after a few calls, and each time after different ones.
 */
const share = (): CrashShare => {
  if (process.env['GANTRY_CRASH_MATRIX'] === '1') return 'all';
  return { seed: testSeed('crash matrix', 1 + Math.floor(Math.random() * 2 ** 31)), lives: LIVES };
};

describeCrashMatrix('docker runtime', dockerWorld, share());
