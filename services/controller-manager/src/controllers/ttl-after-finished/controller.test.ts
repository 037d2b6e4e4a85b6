import { formatTime } from '@gantry/base';
import { type Job, JOBS } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { exampleJob } from '../../testing/job-objects.ts';
import { createTtlAfterFinishedController } from './controller.ts';

const KEY = { namespace: 'n', name: 'work' };

async function createEnded(ttlSecondsAfterFinished: number) {
  const harness = createControllerHarness();
  const lastTransitionTime = formatTime(harness.clock.now());
  const job: Job = {
    ...exampleJob({ ttlSecondsAfterFinished }),
    status: { conditions: [{ type: 'Complete', status: 'True', lastTransitionTime }] },
  };
  await harness.client.put(JOBS, job);
  return harness;
}

it('deletes a Job when its time is over, its pods first', async () => {
  const { client, clock, run } = await createEnded(60);
  const metrics = createMetrics();
  run([createTtlAfterFinishedController(createMeters(metrics).ttl)]);
  await clock.advance(59_000);
  expect(client.all(JOBS)).toHaveLength(1);
  await clock.advance(1000);
  expect(client.all(JOBS)).toHaveLength(0);
  expect((await metrics.render()).text).toContain(
    'ttl_after_finished_controller_job_deletion_duration_seconds_count 1\n',
  );
  const deletions = client.writes.filter(({ verb }) => verb === 'delete');
  expect(deletions).toMatchObject([{ options: { propagationPolicy: 'Foreground', preconditions: { uid: 'uid-1' } } }]);
});

it('does not delete a Job whose time was made longer, before or after it read it again', async () => {
  for (const moment of ['get', 'delete']) {
    const { client, clock, run, stop } = await createEnded(10);
    let acted = 0;
    run([createTtlAfterFinishedController(createMeters(createMetrics()).ttl)], {
      reach: async (_signal, { verb, resource }) => {
        if (verb !== moment || resource !== 'jobs' || acted++ > 0) return;
        await client.patch(JOBS, KEY, { merge: { spec: { ttlSecondsAfterFinished: 3600 } } }, stop.signal);
      },
    });
    await clock.advance(60_000);
    expect({ moment, acted, jobs: client.all(JOBS).length }).toEqual({ moment, acted: 1, jobs: 1 });
  }
});
