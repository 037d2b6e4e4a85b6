import type { ResourceDefinition } from '@gantry/apimachinery';
import { cronJobs } from './cron-job.ts';
import { jobs } from './job.ts';

/** The kinds of `batch`, in discovery's order. */
export const batchKinds: readonly ResourceDefinition[] = [cronJobs, jobs];
