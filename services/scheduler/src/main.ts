import { runMain } from '@gantry/service';
import { readSchedulerConfig } from './config.ts';
import { runScheduler } from './run-scheduler.ts';

await runMain(() => runScheduler(readSchedulerConfig()));
