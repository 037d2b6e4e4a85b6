import { controllerReference, CRON_JOBS, type CronJob, type Event, type Job, JOBS, StatusError } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { exampleJob } from '../../testing/job-objects.ts';
import { createCronJobController } from './controller.ts';

const metrics = createMetrics();
const meters = createMeters(metrics);
const served = async () => (await metrics.render()).text.split('\n');

const KEY = { namespace: 'n', name: 'tick' };

function everyMinute(spec: Partial<CronJob['spec']> = {}): CronJob {
  const jobTemplate = { spec: exampleJob({}).spec ?? { template: {} } };
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: KEY,
    spec: { schedule: '* * * * *', concurrencyPolicy: 'Allow', suspend: false, jobTemplate, ...spec },
  };
}

const names = ({ client }: ControllerHarness) => client.all(JOBS).map(({ metadata }) => metadata.name);
const statusWrites = ({ client }: ControllerHarness) =>
  client.writes.filter((write) => 'subresource' in write && write.resource.resource === 'cronjobs').length;
const reports = ({ client }: ControllerHarness) =>
  client.writes
    .flatMap((write) => (write.verb === 'create' && write.object.kind === 'Event' ? [write.object as Event] : []))
    .filter(({ involvedObject }) => involvedObject.kind === 'CronJob')
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

async function end({ client, stop, clock }: ControllerHarness, job: Job | undefined): Promise<void> {
  if (job === undefined) return;
  const completionTime = new Date(clock.now()).toISOString().replace('.000Z', 'Z');
  const status = { completionTime, conditions: [{ type: 'Complete', status: 'True' }] };
  await client.updateStatus(JOBS, { ...job, status }, stop.signal);
}

it('measures how long after its time a Job is created', async () => {
  const { client, clock, run } = createControllerHarness();
  const sum = async () =>
    Number((await served()).find((line) => /skew_duration_seconds_count/.test(line))?.split(' ')[1]);
  const before = await sum();
  await client.put(CRON_JOBS, everyMinute({}));
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(2 * 60_000 + 1000);
  expect((await sum()) - before).toBe(2);
  const late = (await served()).find((line) => line.includes('skew_duration_seconds_bucket{le="1"}'));
  expect(late).toBe(`cronjob_controller_job_creation_skew_duration_seconds_bucket{le="1"} ${await sum()}`);
});

it('starts a Job each minute and keeps a bounded history', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(CRON_JOBS, everyMinute({ successfulJobsHistoryLimit: 2 }));
  run([createCronJobController(meters.cronJob)]);
  for (let minute = 0; minute < 5; minute++) {
    await clock.advance(60_000);
    await clock.advance(1000);
    await end(
      harness,
      client.all(JOBS).find(({ status }) => status?.completionTime === undefined),
    );
  }
  await clock.advance(100);
  // The clock starts at the beginning of 2026. The first Job is due one minute later.
  expect(names(harness)).toEqual(['tick-29453764', 'tick-29453765']);
  expect(client.all(CRON_JOBS)[0]?.status).toMatchObject({ lastScheduleTime: '2026-01-01T00:05:00Z' });
  expect(client.all(CRON_JOBS)[0]?.status).not.toHaveProperty('active');
  expect(reports(harness).slice(0, 2)).toEqual([
    'Normal SuccessfulCreate: Created job tick-29453761',
    'Normal SawCompletedJob: Saw completed job: tick-29453761, condition: Complete',
  ]);
  expect(reports(harness)).toContain('Normal SuccessfulDelete: Deleted job tick-29453761');
});

it('starts one Job for a time, whichever write a leader dies at', async () => {
  for (let diesAt = 0; diesAt < 8; diesAt++) {
    const harness = createControllerHarness();
    const { client, clock, run } = harness;
    await client.put(CRON_JOBS, everyMinute());
    let writes = 0;
    // This request never arrives, and neither do later ones.
    const reach = async (signal: AbortSignal, { verb, resource }: { verb: string; resource?: string }) => {
      if (['get', 'list'].includes(verb) || resource === 'events' || resource === 'leases') return;
      if (writes++ >= diesAt) await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
    };
    run([createCronJobController(meters.cronJob)], { reach });
    await clock.advance(150_000);
    run([createCronJobController(meters.cronJob)]);
    await clock.advance(100_000);
    // The Jobs of the second, third and fourth minute, and perhaps that of the first.
    expect(names(harness)).toEqual(expect.arrayContaining(['tick-29453762', 'tick-29453763', 'tick-29453764']));
    // A Job is not listed once the Job of a later minute has overtaken it, as in Kubernetes.
    const listed = (client.all(CRON_JOBS)[0]?.status?.active ?? []).map(({ name }) => name);
    expect(listed.slice(-3)).toEqual(['tick-29453762', 'tick-29453763', 'tick-29453764']);
  }
});

it('takes a Job that a dead leader started for its own, and leaves one of another', async () => {
  for (const owner of ['own', 'other'] as const) {
    const harness = createControllerHarness();
    const { client, clock, run } = harness;
    const cronJob = await client.put(CRON_JOBS, everyMinute());
    const job = exampleJob({});
    delete job.metadata.uid;
    const ownerReferences = owner === 'own' ? [controllerReference(cronJob)] : [];
    await client.put(JOBS, { ...job, metadata: { ...job.metadata, name: 'tick-29453761', ownerReferences } });
    run([createCronJobController(meters.cronJob)]);
    await clock.advance(61_000);
    const { active = [] } = client.all(CRON_JOBS)[0]?.status ?? {};
    expect(active.map(({ name }) => name)).toEqual(owner === 'own' ? ['tick-29453761'] : []);
    await clock.advance(60_000);
    expect(names(harness)).toEqual(['tick-29453761', 'tick-29453762']);
  }
});

it('reports a Job that it neither started nor lists at each look', async () => {
  const { client, clock, run, stop, events } = createControllerHarness();
  const suspended = everyMinute({ suspend: true });
  await client.put(CRON_JOBS, suspended);
  const cronJob = client.all(CRON_JOBS)[0] ?? suspended;
  const job = exampleJob({});
  const metadata = { ...job.metadata, name: 'by-hand', ownerReferences: [controllerReference(cronJob)] };
  await client.put(JOBS, { ...job, metadata });
  run([createCronJobController(meters.cronJob)]);
  const reported = async () => {
    await clock.advance(1000);
    return events('CronJob').map(({ reason, message, count }) => [reason, message, count]);
  };
  const message = 'Saw a job that the controller did not create or forgot: by-hand';
  expect(await reported()).toEqual([['UnexpectedJob', message, 1]]);
  // A change of the Job causes another reconcile.
  await client.patch(JOBS, { namespace: 'n', name: 'by-hand' }, { merge: { status: { active: 1 } } }, stop.signal);
  expect(await reported()).toEqual([['UnexpectedJob', message, 2]]);
});

it('replaces a Job that still runs, and starts its successor', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(CRON_JOBS, everyMinute({ concurrencyPolicy: 'Replace' }));
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(61_000);
  expect(names(harness)).toEqual(['tick-29453761']);
  await clock.advance(60_000);
  expect(names(harness)).toEqual(['tick-29453762']);
  expect(client.all(CRON_JOBS)[0]?.status?.active?.map(({ name }) => name)).toEqual(['tick-29453762']);
});

it('reports a Job that cannot be created, and tries again', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(CRON_JOBS, everyMinute());
  const refused = StatusError.forbidden(JOBS, 'tick-29453761', 'exceeded quota');
  client.failNext(({ verb, resource }) => verb === 'create' && resource.resource === 'jobs', refused, 2);
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(70_000);
  expect(reports(harness)[0]).toMatch(/^Warning FailedCreate: Error creating job: .*exceeded quota$/);
  expect(names(harness)).toEqual(['tick-29453761']);
});

it('keeps a listed Job that only the cache does not show', async () => {
  const harness = createControllerHarness();
  const { client, clock, run, stop } = harness;
  const job = exampleJob({});
  delete job.metadata.uid;
  const hidden = await client.put(JOBS, { ...job, metadata: { ...job.metadata, name: 'hidden' } });
  const gone = { name: 'gone', namespace: 'n', uid: 'gone' };
  const listed = { name: 'hidden', namespace: 'n', uid: hidden.metadata.uid ?? '' };
  const cronJob = await client.put(CRON_JOBS, everyMinute());
  await client.updateStatus(CRON_JOBS, { ...cronJob, status: { active: [listed, gone] } }, stop.signal);
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(1000);
  expect(client.all(CRON_JOBS)[0]?.status?.active).toEqual([listed]);
  expect(reports(harness)).toEqual(['Normal MissingJob: Active job went missing: gone']);
});

it('does not start at once for times that only a changed schedule has had', async () => {
  const harness = createControllerHarness();
  const { client, clock, run, stop } = harness;
  await client.put(CRON_JOBS, everyMinute({ schedule: '0 0 1 6 *' }));
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(90_000);
  await client.patch(CRON_JOBS, KEY, { merge: { spec: { schedule: '* * * * *' } } }, stop.signal);
  await clock.advance(20_000);
  expect(names(harness)).toEqual([]);
  await clock.advance(11_000);
  expect(names(harness)).toEqual(['tick-29453762']);
});

it('writes its status once for the end of a Job and the start of the next', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(CRON_JOBS, everyMinute({ successfulJobsHistoryLimit: 0 }));
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(61_000);
  const [first] = client.all(JOBS);
  await clock.advance(59_000);
  const before = statusWrites(harness);
  // The Job ends in the same second in which its successor starts.
  await end(harness, first);
  await clock.advance(2000);
  expect(names(harness)).toEqual(['tick-29453762']);
  expect(client.all(CRON_JOBS)[0]?.status).toMatchObject({
    active: [{ name: 'tick-29453762' }],
    lastSuccessfulTime: '2026-01-01T00:02:00Z',
  });
  expect(statusWrites(harness) - before).toBe(1);
});

it('writes what it has done when the next Job cannot be created', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(CRON_JOBS, everyMinute({ concurrencyPolicy: 'Replace' }));
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(61_000);
  const refused = StatusError.forbidden(JOBS, 'tick-29453762', 'exceeded quota');
  client.failNext(({ verb, resource }) => verb === 'create' && resource.resource === 'jobs', refused, 50);
  await clock.advance(60_000);
  expect(names(harness)).toEqual([]);
  expect(client.all(CRON_JOBS)[0]?.status).not.toHaveProperty('active');
});

it('reports a Job that cannot be read and is to be replaced, and starts no other', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(CRON_JOBS, everyMinute({ concurrencyPolicy: 'Replace' }));
  run([createCronJobController(meters.cronJob)]);
  await clock.advance(61_000);
  const refused = StatusError.forbidden(JOBS, 'tick-29453761', 'not today');
  client.failNext(({ verb, resource }) => verb === 'get' && resource.resource === 'jobs', refused, 50);
  await clock.advance(60_000);
  expect(names(harness)).toEqual(['tick-29453761']);
  expect(reports(harness)).toContainEqual(expect.stringMatching(/^Warning FailedGet: Get job: .*not today$/));
});
