import { describeCrashMatrix } from '../testing/crash-matrix.ts';
import { dockerWorld } from './testing/docker-world.ts';

describeCrashMatrix('docker runtime', dockerWorld);
