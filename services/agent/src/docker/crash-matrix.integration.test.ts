import { testSeed } from '@gantry/base/testing';
import { type CrashShare, describeCrashMatrix } from '../testing/crash-matrix.ts';
import { dockerWorld } from './testing/docker-world.ts';

/** As many as fit into half a minute; each of them takes a few seconds, four at once. */
const LIVES = 8;

/** `npm run crash-matrix` kills an agent after each call; other runs after a few, and others the next time. */
const share = (): CrashShare => {
  if (process.env['GANTRY_CRASH_MATRIX'] === '1') return 'all';
  return { seed: testSeed('crash matrix', 1 + Math.floor(Math.random() * 2 ** 31)), lives: LIVES };
};

describeCrashMatrix('docker runtime', dockerWorld, share());
