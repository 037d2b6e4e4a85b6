import { type Event, type Job, JOBS, type Pod, PODS, StatusError, TRACKING_FINALIZER } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { exampleJob, podStatus, sketchedPod } from '../../testing/job-objects.ts';
import { createJobController } from './controller.ts';

const metrics = createMetrics();
const meters = createMeters(metrics);
const served = async () => (await metrics.render()).text.split('\n');

/** A Job without the uid that the API server gives it. */
function newJob(spec: Parameters<typeof exampleJob>[0]): Job {
  const job = exampleJob(spec);
  delete job.metadata.uid;
  return job;
}

async function setPhase(
  { client, clock, stop }: ControllerHarness,
  pod: Pod,
  is: 'succeeded' | 'failed',
): Promise<void> {
  await client.updateStatus(PODS, { ...pod, status: podStatus({ is }, clock.now()) }, stop.signal);
}

const conditions = (job: Job | undefined) => (job?.status?.conditions ?? []).map(({ type }) => type);
/** The Events about Jobs. Events of the same moment have the same name here, so not all of them are stored. */
const reports = ({ client }: ControllerHarness) =>
  client.writes
    .flatMap((write) => (write.verb === 'create' && write.object.kind === 'Event' ? [write.object as Event] : []))
    .filter(({ involvedObject }) => involvedObject.kind === 'Job')
    .map(({ type, reason, message }) => `${type} ${reason} ${message ?? ''}`.replace(/work-[a-z0-9]{5}$/, 'work-x'));

it('runs a Job to its end, with an Event for each step', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(JOBS, newJob({ parallelism: 2, completions: 2 }));
  run([createJobController(meters.job)]);
  await clock.advance(100);
  const pods = client.all(PODS);
  expect(pods).toHaveLength(2);
  expect(client.all(JOBS)[0]?.status).toMatchObject({ active: 2, ready: 0 });
  for (const pod of pods) await setPhase(harness, pod, 'succeeded');
  await clock.advance(2000);
  expect(client.all(JOBS)[0]?.status).toMatchObject({ succeeded: 2, uncountedTerminatedPods: {} });
  expect(conditions(client.all(JOBS)[0])).toEqual(['SuccessCriteriaMet', 'Complete']);
  expect(client.all(PODS).flatMap(({ metadata }) => metadata.finalizers ?? [])).toEqual([]);
  const created = 'Normal SuccessfulCreate Created pod: work-x';
  expect(reports(harness)).toEqual([created, created, 'Normal Completed Job completed']);
  expect(await served()).toEqual(
    expect.arrayContaining([
      'job_controller_jobs_finished_total{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1',
      'job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 2',
      'job_controller_job_syncs_total{completion_mode="NonIndexed",result="success",action="pods_created"} 1',
    ]),
  );
});

describe('a leader that dies', () => {
  /** Lets every pod end as soon as it exists: the first and the third fail. */
  async function endPods(harness: ControllerHarness): Promise<void> {
    const open = harness.client.all(PODS).filter(({ status }) => status?.phase === undefined);
    for (const pod of open) {
      const nth = harness.client.all(PODS).indexOf(pod);
      await setPhase(harness, pod, nth === 0 || nth === 2 ? 'failed' : 'succeeded');
    }
  }

  async function runWith(diesAt: number): Promise<{ job: Job | undefined; writes: number; created: number }> {
    const harness = createControllerHarness();
    const { client, clock, run } = harness;
    await client.put(JOBS, newJob({ parallelism: 2, completions: 3 }));
    let writes = 0;
    // This request never arrives, and neither do later ones.
    const reach = async (signal: AbortSignal, { verb, resource }: { verb: string; resource?: string }) => {
      if (['get', 'list'].includes(verb) || resource === 'events' || resource === 'leases') return;
      if (writes++ >= diesAt) await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
    };
    run([createJobController(meters.job)], { reach });
    for (let round = 0; round < 10; round++) {
      await clock.advance(3000);
      await endPods(harness);
    }
    run([createJobController(meters.job)]);
    for (let round = 0; round < 40; round++) {
      await clock.advance(3000);
      await endPods(harness);
    }
    return { job: client.all(JOBS)[0], writes, created: client.all(PODS).length };
  }

  it('between any two writes leaves a Job that its successor ends with the same counts', async () => {
    const { writes } = await runWith(Infinity);
    expect(writes).toBeGreaterThan(10);
    for (let diesAt = 0; diesAt < writes; diesAt++) {
      const { job, created } = await runWith(diesAt);
      expect({ diesAt, ...job?.status }).toMatchObject({
        diesAt,
        succeeded: 3,
        failed: 2,
        uncountedTerminatedPods: {},
      });
      expect(created).toBe(5);
      expect(conditions(job)).toEqual(['SuccessCriteriaMet', 'Complete']);
    }
  });
});

it('says how many pods exist when one cannot be created', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(JOBS, newJob({ parallelism: 4, completions: 4 }));
  let creations = 0;
  const refused = StatusError.forbidden(PODS, '', 'exceeded quota');
  client.failNext(
    ({ verb, resource }) => verb === 'create' && resource.resource === 'pods' && ++creations > 1,
    refused,
    1,
  );
  const statuses: unknown[] = [];
  run([createJobController(meters.job)], {
    meanwhile: async (write) => {
      if (write.verb === 'update') statuses.push((write.object as Job).status?.active);
    },
  });
  await clock.advance(500);
  // The first batch had one pod. The second had two, of which one was refused. The rest came with the retry.
  expect([statuses[0], statuses.at(-1)]).toEqual([2, 4]);
  expect(reports(harness)).toContain('Warning FailedCreate Error creating: pods is forbidden: exceeded quota');
  expect(client.all(PODS)).toHaveLength(4);
});

describe('pods of Jobs that do not count them', () => {
  const withJobPod = async (harness: ControllerHarness, job: Job) => {
    const stored = await harness.client.put(JOBS, job);
    const pod = await harness.client.put(PODS, sketchedPod({ is: 'running' }, 'p', stored, harness.clock.now()));
    return { stored, pod };
  };
  const finalizers = ({ client }: ControllerHarness) =>
    client.all(PODS).flatMap(({ metadata }) => metadata.finalizers ?? []);

  it('lose the finalizer when the Job has ended', async () => {
    const harness = createControllerHarness();
    const job = newJob({ completions: 1 });
    const ended = { type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    await withJobPod(harness, { ...job, status: { conditions: [ended] } });
    harness.run([createJobController(meters.job)]);
    await harness.clock.advance(100);
    expect(finalizers(harness)).toEqual([]);
  });

  it('lose the finalizer when the Job is gone, also while another has its name', async () => {
    const harness = createControllerHarness();
    const { stored } = await withJobPod(harness, newJob({ completions: 1, managedBy: 'example.org/mine' }));
    harness.run([createJobController(meters.job)]);
    await harness.clock.advance(100);
    expect(finalizers(harness)).toEqual([TRACKING_FINALIZER]);
    await harness.client.delete(
      JOBS,
      { namespace: 'n', name: 'work' },
      { uid: stored.metadata.uid },
      harness.stop.signal,
    );
    await harness.client.put(JOBS, newJob({ completions: 1, managedBy: 'example.org/mine' }));
    await harness.clock.advance(100);
    expect(finalizers(harness)).toEqual([]);
  });

  it('are adopted with the finalizer, unless the Job is being deleted by now', async () => {
    for (const deletes of [false, true]) {
      const harness = createControllerHarness();
      const { client, clock, run, stop } = harness;
      const job = await client.put(JOBS, {
        ...newJob({ completions: 1 }),
        metadata: { ...newJob({}).metadata, finalizers: ['example.org/hold'] },
      });
      await client.put(PODS, sketchedPod({ is: 'running', owned: false, finalizer: false }, 'p', job, clock.now()));
      let first = true;
      run([createJobController(meters.job)], {
        reach: async (_signal, { verb, resource }) => {
          if (!deletes || !first || verb !== 'get' || resource !== 'jobs') return;
          first = false;
          await client.delete(JOBS, { namespace: 'n', name: 'work' }, {}, stop.signal);
        },
      });
      await clock.advance(3000);
      expect(client.all(PODS).map(({ metadata }) => metadata.ownerReferences?.length ?? 0)).toEqual([deletes ? 0 : 1]);
      expect(finalizers(harness)).toEqual(deletes ? [] : [TRACKING_FINALIZER]);
    }
  });
});

it('waits twice as long after each failure', async () => {
  const harness = createControllerHarness();
  const { client, clock, run } = harness;
  await client.put(JOBS, newJob({ backoffLimit: 10 }));
  run([createJobController(meters.job)]);
  const start = clock.now();
  const created: number[] = [];
  for (let second = 0; second < 90; second++) {
    await clock.advance(1000);
    for (const pod of client.all(PODS).slice(created.length)) {
      created.push(Math.round((clock.now() - start) / 1000));
      await setPhase(harness, pod, 'failed');
    }
  }
  expect(created).toEqual([1, 11, 31, 71]);
});

describe('an old view of pods', () => {
  /** From now on the cache does not see changes of these objects. */
  function blind({ client }: ControllerHarness, plural: string): void {
    const isRead = ({ verb, resource }: { verb: string; resource: { resource: string } }) =>
      resource.resource === plural && (verb === 'watch' || verb === 'list');
    client.failNext(isRead, StatusError.unavailable('away'), 10_000);
    client.breakWatches();
  }
  const wake = ({ client, stop }: ControllerHarness, parallelism: number) =>
    client.patch(JOBS, { namespace: 'n', name: 'work' }, { merge: { spec: { parallelism } } }, stop.signal);

  it('does not let a Job create its pods again', async () => {
    const harness = createControllerHarness();
    const { client, clock, run } = harness;
    await client.put(JOBS, newJob({ parallelism: 2, completions: 9 }));
    let first = true;
    run([createJobController(meters.job)], {
      meanwhile: async ({ verb, resource }) => {
        if (verb !== 'create' || resource.resource !== 'pods' || !first) return;
        first = false;
        blind(harness, 'pods');
      },
    });
    await clock.advance(10_000);
    await wake(harness, 3);
    // This is longer than other controllers wait to see their own writes.
    await clock.advance(310_000);
    expect(client.all(PODS)).toHaveLength(2);
  });

  it('does not let a pod be counted again that is gone', async () => {
    const harness = createControllerHarness();
    const { client, clock, run, stop } = harness;
    await client.put(JOBS, newJob({ parallelism: 1, completions: 9 }));
    run([createJobController(meters.job)]);
    await clock.advance(2000);
    const [pod] = client.all(PODS);
    if (pod === undefined) throw new TypeError('there is no pod');
    await setPhase(harness, pod, 'succeeded');
    await clock.advance(10);
    blind(harness, 'pods');
    await client.patch(
      PODS,
      { namespace: 'n', name: pod.metadata.name ?? '' },
      { merge: { metadata: { finalizers: null } } },
      stop.signal,
    );
    await client.delete(PODS, { namespace: 'n', name: pod.metadata.name ?? '' }, {}, stop.signal);
    await client.patch(JOBS, { namespace: 'n', name: 'work' }, { merge: { spec: { suspend: true } } }, stop.signal);
    for (const parallelism of [2, 3, 4]) {
      await clock.advance(3000);
      await wake(harness, parallelism);
    }
    await clock.advance(3000);
    expect(client.all(JOBS)[0]?.status).toMatchObject({ succeeded: 1 });
  });

  it('of Jobs does not let the pod of a new Job lose its finalizer', async () => {
    const harness = createControllerHarness();
    const { client, clock, run, stop } = harness;
    await client.put(JOBS, newJob({ completions: 1, managedBy: 'example.org/mine' }));
    run([createJobController(meters.job)]);
    await clock.advance(100);
    blind(harness, 'jobs');
    await client.delete(JOBS, { namespace: 'n', name: 'work' }, {}, stop.signal);
    const job = await client.put(JOBS, newJob({ completions: 1 }));
    await client.put(PODS, sketchedPod({ is: 'running' }, 'p', job, clock.now()));
    await clock.advance(1000);
    expect(client.all(PODS)[0]?.metadata.finalizers).toEqual([TRACKING_FINALIZER]);
  });
});

describe('what Kubernetes counts of Jobs', () => {
  /** The counters of a separate run that are not 0. */
  const counted = async (work: (harness: ControllerHarness) => Promise<void>, name: string) => {
    const own = createMetrics();
    const harness = createControllerHarness();
    harness.run([createJobController(createMeters(own).job)]);
    await harness.clock.advance(100);
    await work(harness);
    const { text } = await own.render();
    return text.split('\n').filter((line) => line.startsWith(`job_controller_${name}{`));
  };
  const end = async (harness: ControllerHarness, is: 'succeeded' | 'failed') => {
    for (const pod of harness.client.all(PODS).filter(({ status }) => status?.phase === undefined))
      await setPhase(harness, pod, is);
    await harness.clock.advance(12_000);
  };
  const start = async ({ client, clock }: ControllerHarness, spec: Parameters<typeof exampleJob>[0]) => {
    await client.put(JOBS, newJob(spec));
    await clock.advance(2000);
  };

  it('are indexes that have ended, by what limits their failures', async () => {
    const name = 'job_finished_indexes_total';
    const each = { completionMode: 'Indexed', parallelism: 2, completions: 2 } as const;
    const limited = async (harness: ControllerHarness) => {
      await start(harness, { ...each, backoffLimitPerIndex: 0 });
      const [first] = harness.client.all(PODS);
      if (first !== undefined) await setPhase(harness, first, 'failed');
      await end(harness, 'succeeded');
    };
    expect((await counted(limited, name)).sort()).toEqual([
      'job_controller_job_finished_indexes_total{status="failed",backoffLimit="perIndex"} 1',
      'job_controller_job_finished_indexes_total{status="succeeded",backoffLimit="perIndex"} 1',
    ]);
    const whole = async (harness: ControllerHarness) => {
      await start(harness, each);
      await end(harness, 'succeeded');
    };
    expect(await counted(whole, name)).toEqual([
      'job_controller_job_finished_indexes_total{status="succeeded",backoffLimit="global"} 2',
    ]);
  });

  it.each([
    [undefined, 'recreate_terminating_or_failed'],
    ['Failed', 'recreate_failed'],
  ] as const)('are pods by why they are created: podReplacementPolicy %s', async (podReplacementPolicy, reason) => {
    const replaced = async (harness: ControllerHarness) => {
      await start(harness, {
        parallelism: 1,
        completions: 1,
        ...(podReplacementPolicy === undefined ? {} : { podReplacementPolicy }),
      });
      const refused = StatusError.forbidden(PODS, '', 'exceeded quota');
      harness.client.failNext(({ verb, resource }) => verb === 'create' && resource.resource === 'pods', refused, 1);
      await end(harness, 'failed');
      await harness.clock.advance(12_000);
    };
    expect((await counted(replaced, 'job_pods_creation_total')).sort()).toEqual([
      'job_controller_job_pods_creation_total{reason="new",status="succeeded"} 1',
      `job_controller_job_pods_creation_total{reason="${reason}",status="failed"} 1`,
      `job_controller_job_pods_creation_total{reason="${reason}",status="succeeded"} 1`,
    ]);
  });

  it('are ended pods that get and lose the finalizer, and failed ones on which a rule decided', async () => {
    const rules = [{ action: 'Ignore' as const, onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }];
    const failed = async (harness: ControllerHarness) => {
      const { client, clock, stop } = harness;
      await start(harness, { parallelism: 1, completions: 1, podFailurePolicy: { rules } });
      const [pod] = client.all(PODS);
      if (pod === undefined) return;
      const status = podStatus({ is: 'failed' }, clock.now());
      const conditions = [...(status.conditions ?? []), { type: 'DisruptionTarget', status: 'True' }];
      await client.updateStatus(PODS, { ...pod, status: { ...status, conditions } }, stop.signal);
      await clock.advance(12_000);
      await end(harness, 'failed');
    };
    expect(await counted(failed, 'pod_failures_handled_by_failure_policy_total')).toEqual([
      'job_controller_pod_failures_handled_by_failure_policy_total{action="Ignore"} 1',
    ]);
    expect((await counted(failed, 'terminated_pods_tracking_finalizer_total')).sort()).toEqual([
      'job_controller_terminated_pods_tracking_finalizer_total{event="add"} 2',
      'job_controller_terminated_pods_tracking_finalizer_total{event="delete"} 2',
    ]);
  });

  it('are Jobs of other controllers, of the first 100 by name', async () => {
    const many = async ({ client, clock }: ControllerHarness) => {
      for (let i = 0; i < 103; i++) {
        const job = newJob({ parallelism: 1, completions: 1, managedBy: `example.org/${i}` });
        await client.put(JOBS, { ...job, metadata: { ...job.metadata, name: `j${i}` } });
      }
      await client.put(JOBS, newJob({ parallelism: 1, completions: 1, managedBy: 'kubernetes.io/job-controller' }));
      await clock.advance(100);
    };
    const lines = await counted(many, 'jobs_by_external_controller_total');
    expect(lines).toHaveLength(101);
    expect(lines).toContain('job_controller_jobs_by_external_controller_total{controller_name="example.org/0"} 1');
    expect(lines).toContain('job_controller_jobs_by_external_controller_total{controller_name="other"} 3');
  });
});
