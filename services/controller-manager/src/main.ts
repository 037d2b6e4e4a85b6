import { runMain } from '@gantry/service';
import { readControllerManagerConfig } from './config.ts';
import { runControllerManager } from './run-controller-manager.ts';

await runMain(() => runControllerManager(readControllerManagerConfig(process.env)));
