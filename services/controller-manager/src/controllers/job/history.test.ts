import fc from 'fast-check';
import { expect, it } from 'vitest';
import { exampleJob } from '../../testing/job-objects.ts';
import { type JobEvent, JobWorld } from '../../testing/job-world.ts';
import { countIndexes, parseIntervals } from './intervals.ts';

const RUNS = { seed: 11, numRuns: 400 };

const pod = fc.nat({ max: 20 });
const look = fc.record({
  kind: fc.constant('look' as const),
  stale: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 5 }),
  writes: fc.oneof(fc.nat({ max: 8 }), fc.constant(100)),
  lost: fc.boolean(),
});
const podEvent = (...kinds: ('run' | 'succeed' | 'fail' | 'delete' | 'vanish')[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), pod });
const others = [
  fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 30, 600) }),
  fc.constant({ kind: 'failover' as const }),
];
const history = (...kinds: Parameters<typeof podEvent>): fc.Arbitrary<readonly JobEvent[]> =>
  fc.array(fc.oneof(look, look, podEvent(...kinds), podEvent(...kinds), ...others), { maxLength: 60 });

const jobs = fc
  .record({
    parallelism: fc.integer({ min: 1, max: 4 }),
    completions: fc.integer({ min: 0, max: 6 }),
    backoffLimit: fc.constantFrom(0, 3, 100),
    completionMode: fc.constantFrom('NonIndexed', 'Indexed'),
    podReplacementPolicy: fc.constantFrom('Failed', 'TerminatingOrFailed'),
  })
  .map((spec) => exampleJob(spec));

/** Plays a history, and then lets the Job finish. */
function play(job: ReturnType<typeof exampleJob>, events: readonly JobEvent[]): JobWorld {
  const world = new JobWorld(job);
  for (const event of events) world.happen(event);
  world.settle();
  return world;
}

const endOf = ({ job }: JobWorld) => job.status?.conditions?.at(-1)?.type;

it('every history of old views, crashes and failovers ends, with each pod counted once', () => {
  fc.assert(
    fc.property(jobs, history('run', 'succeed', 'fail'), (job, events) => {
      const world = play(job, events);
      const { succeeded = 0, failed = 0, completedIndexes = '' } = world.job.status ?? {};
      const { completions = 0, completionMode } = world.job.spec ?? {};
      expect(['Complete', 'Failed']).toContain(endOf(world));
      if (completionMode === 'Indexed')
        expect(countIndexes(parseIntervals(completedIndexes, completions))).toBe(succeeded);
      expect(succeeded + failed).toBe(world.counted);
      // Pods that still run when a Job fails are counted as failed. One of them may have succeeded after it was counted.
      if (endOf(world) === 'Failed') expect(succeeded).toBeLessThanOrEqual(world.succeeded);
      else expect({ succeeded, wanted: completions }).toEqual({ succeeded: world.succeeded, wanted: succeeded });
    }),
    RUNS,
  );
});

it('pods that others delete are counted once too', () => {
  fc.assert(
    fc.property(jobs, history('run', 'succeed', 'fail', 'delete', 'vanish'), (job, events) => {
      const world = play(job, events);
      const { succeeded = 0, failed = 0 } = world.job.status ?? {};
      expect(['Complete', 'Failed']).toContain(endOf(world));
      expect(succeeded).toBeLessThanOrEqual(world.succeeded);
      // An index may succeed twice, the first time in a pod that was considered lost.
      if (world.job.spec?.completionMode === 'NonIndexed') expect(succeeded + failed).toBe(world.counted);
    }),
    RUNS,
  );
});

it('there are never more active pods than may run, and no more successes than wanted', () => {
  fc.assert(
    fc.property(jobs, history('run', 'succeed', 'fail', 'delete', 'vanish'), (job, events) => {
      const world = play(job, events);
      expect(world.mostActive).toBeLessThanOrEqual(job.spec?.parallelism ?? 0);
      expect(world.job.status?.succeeded ?? 0).toBeLessThanOrEqual(job.spec?.completions ?? 0);
    }),
    RUNS,
  );
});

it('a plan that was carried out leaves nothing to do', () => {
  fc.assert(
    fc.property(jobs, history('run', 'succeed', 'fail', 'delete', 'vanish'), (job, events) => {
      const world = new JobWorld(job);
      for (const event of events) {
        world.happen(event);
        world.look();
        // One reconcile either deletes pods or creates some, never both.
        world.look();
        expect(world.look()).toEqual([]);
      }
    }),
    RUNS,
  );
});

it('the status never counts backwards', () => {
  fc.assert(
    fc.property(jobs, history('run', 'succeed', 'fail', 'delete', 'vanish'), (job, events) => {
      const world = new JobWorld(job);
      let before = { succeeded: 0, failed: 0 };
      for (const event of events) {
        world.happen(event);
        const { succeeded = 0, failed = 0 } = world.job.status ?? {};
        expect(succeeded).toBeGreaterThanOrEqual(before.succeeded);
        expect(failed).toBeGreaterThanOrEqual(before.failed);
        before = { succeeded, failed };
      }
    }),
    RUNS,
  );
});
