import { CRON_JOBS, JOBS } from '@gantry/objects';
import { jobTemplate, limitedJob } from './job-contents.ts';
import type { SimulatedKind } from './simulated-kind.ts';

/** How users change Jobs: their parallelism, and whether they are suspended. */
const CHANGED_BY_USERS: Pick<SimulatedKind, 'changes' | 'repair' | 'leavesOrphans' | 'waits'> = {
  changes: [
    (dice) => ({ spec: { parallelism: dice.between(1, 4) } }),
    (dice) => ({ spec: { suspend: dice.chance(0.5) } }),
  ],
  repair: () => ({ spec: { suspend: false } }),
  leavesOrphans: false,
  waits: 'not',
};

/** Jobs, Jobs with a limit for each index, and CronJobs. */
export const JOB_KINDS: readonly SimulatedKind[] = [
  {
    resource: JOBS,
    controllers: ['job', 'garbage-collector'],
    objects: 2,
    create: (dice, name) => ({
      spec: {
        parallelism: dice.between(1, 3),
        completions: dice.between(1, 4),
        completionMode: dice.pick(['NonIndexed', 'Indexed']),
        backoffLimit: 20,
        suspend: dice.chance(0.2),
        template: jobTemplate(dice, name),
      },
    }),
    ...CHANGED_BY_USERS,
  },
  {
    name: 'limited',
    resource: JOBS,
    controllers: ['job', 'garbage-collector'],
    objects: 1,
    create: (dice) => ({ spec: limitedJob(dice) }),
    ...CHANGED_BY_USERS,
  },
  {
    resource: CRON_JOBS,
    controllers: ['cronjob', 'job', 'garbage-collector'],
    objects: 1,
    create: (dice, name) => ({
      spec: {
        schedule: dice.pick(['* * * * *', '*/2 * * * *']),
        concurrencyPolicy: dice.pick(['Allow', 'Forbid', 'Replace']),
        jobTemplate: { spec: { template: jobTemplate(dice, name) } },
      },
    }),
    changes: [
      (dice) => ({ spec: { suspend: dice.chance(0.5) } }),
      (dice) => ({ spec: { concurrencyPolicy: dice.pick(['Allow', 'Forbid', 'Replace']) } }),
    ],
    repair: () => ({ spec: { suspend: true } }),
    leavesOrphans: false,
    waits: 'not',
  },
];
