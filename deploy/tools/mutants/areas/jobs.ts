import type { Mutant } from '../mutant.ts';

const CONTROLLERS = 'services/controller-manager/src/controllers';
const JOB = `${CONTROLLERS}/job`;
const JOB_SHELL = [`${JOB}/controller.test.ts`];
const JOB_PLAN = [`${JOB}/plan.test.ts`];
const HISTORY = [`${JOB}/history.test.ts`];
const CRON = `${CONTROLLERS}/cronjob`;
const TTL = `${CONTROLLERS}/ttl-after-finished`;

/** Jobs and CronJobs: each pod counted once, each time started once. */
export const JOB_MUTANTS: readonly Mutant[] = [
  {
    name: 'a schedule without times is searched for one',
    file: 'packages/kinds/src/batch/cron-times.ts',
    text: 'if (isNever(schedule.fields)) return undefined;',
    replacement: '',
    tests: ['packages/kinds/src/batch/cron-times.test.ts'],
    protects: 'all controllers from a CronJob that blocks them for half a minute',
  },
  {
    name: 'ended pods lose their finalizers before the status names them',
    file: `${JOB}/plan.ts`,
    text: 'if (!equalJson(first, view.job.status ?? {})) {',
    replacement: 'if (finalized === undefined) {',
    tests: HISTORY,
    protects: 'the counts of a Job over a crash',
  },
  {
    name: 'a pod whose finalizer was removed is counted from an old view',
    file: `${JOB}/tracking.ts`,
    text: '!view.settled.has(uidOf(pod))',
    replacement: 'uidOf(pod) !== undefined',
    tests: JOB_PLAN,
    protects: 'the counts of a Job whose cache stands still',
  },
  {
    name: 'a Job acts on a cache that does not show its own writes',
    file: `${JOB}/controller.ts`,
    text: "awaitOwnWrites: 'always',",
    replacement: '',
    tests: JOB_SHELL,
    protects: 'the number of pods that run at once',
  },
  {
    name: 'a Job that is being deleted adopts pods',
    file: `${JOB}/pod-writes.shell.ts`,
    text: 'if (fresh?.metadata.uid !== job.metadata.uid || fresh?.metadata.deletionTimestamp !== undefined) return false;',
    replacement: '',
    tests: JOB_SHELL,
    protects: 'pods that were to outlive their Job',
  },
  {
    name: 'the Job of a pod is looked up by its name alone',
    file: `${JOB}/controller.ts`,
    text: 'if (cached?.metadata.uid === controller.uid) return cached;',
    replacement: 'if (cached !== undefined) return cached;',
    tests: JOB_SHELL,
    protects: 'the counts of a Job that was created again',
  },
  {
    name: 'a Job of another owner is taken for that of a time of the schedule',
    file: `${CRON}/controller.ts`,
    text: 'return controllerOf(existing)?.uid === this.#cronJob.metadata.uid ? existing : undefined;',
    replacement: 'return existing;',
    tests: [`${CRON}/controller.test.ts`],
    protects: 'Jobs that others created, which Replace would delete',
  },
  {
    name: 'a listed Job that the cache does not have is gone',
    file: `${CRON}/controller.ts`,
    text: 'if (found?.metadata.uid !== uid) missing.add(uid);',
    replacement: 'if (found !== null) missing.add(uid);',
    tests: [`${CRON}/controller.test.ts`],
    protects: 'Forbid: a second Job would start beside the first',
  },
  {
    name: 'a Job is deleted although its time was made longer meanwhile',
    file: `${TTL}/controller.ts`,
    text: "const request = { uid, resourceVersion, propagationPolicy: 'Foreground' } as const;",
    replacement: "const request = { uid, propagationPolicy: 'Foreground' } as const;",
    tests: [`${TTL}/controller.test.ts`],
    protects: 'the pods and logs of a Job that was to stay',
  },
];
