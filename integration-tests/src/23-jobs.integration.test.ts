import { CRON_JOBS, type CronJob, type Job, JOBS, PODS } from '@gantry/objects';
import { afterEach, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { COMPONENTS, leaderOf } from './harness/leaders.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';

afterEach(async () => {
  for (const container of await cluster.containers('controller-manager')) {
    if (container.state === 'exited') await cluster.docker(['start', container.id]);
  }
});

/** A Job of one container that runs a shell script. */
function scriptJob(name: string, script: string, spec: Partial<Job['spec']> = {}): Job {
  const containers = [{ name: 'main', image: IMAGE, command: ['sh', '-c', script] }];
  const template = { spec: { containers, restartPolicy: 'Never', terminationGracePeriodSeconds: 0 } };
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { template, ...spec } };
}

/** Conditions that are true, with their reasons. */
const conditionsOf = ({ status }: Job) =>
  (status?.conditions ?? []).flatMap((one) => (one.status === 'True' ? [`${one.type} ${one.reason ?? ''}`] : []));

test.concurrent('a Job runs to its end, kubectl shows it, and its pods go with it', async () => {
  await using namespace = await cluster.namespace();
  const run = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  await run('create', 'job', 'hello', `--image=${IMAGE}`, '--', 'echo', 'good morning');
  await run('wait', '--for=condition=complete', 'job/hello', '--timeout=120s');
  expect(await run('logs', 'job/hello')).toContain('good morning');
  expect(await run('get', 'job', 'hello')).toMatch(/hello\s+Complete\s+1\/1/);
  const description = await run('describe', 'job', 'hello');
  expect(description).toMatch(/Pods Statuses:\s+0 Active \(0 Ready\) \/ 1 Succeeded \/ 0 Failed/);
  await eventually('its Events are shown', 60_000, async () => {
    const events = await run('describe', 'job', 'hello');
    expect(events).toMatch(/SuccessfulCreate.*Created pod: hello-/);
    expect(events).toMatch(/Completed.*Job completed/);
    return true;
  });
  await run('delete', 'job', 'hello');
  await eventually('its pod is gone', 60_000, async () => (await cluster.list(PODS, namespace.name)).length === 0);
});

test.concurrent('an Indexed Job gives each pod its index; a failing Job ends at its limit with the exit code that its policy names', async () => {
  await using namespace = await cluster.namespace();
  const run = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const indexed = { completions: 3, parallelism: 3, completionMode: 'Indexed' };
  await cluster.create(
    JOBS,
    namespace.name,
    scriptJob('parts', 'echo part $JOB_COMPLETION_INDEX of $HOSTNAME', indexed),
  );
  await cluster.create(JOBS, namespace.name, scriptJob('bad', 'exit 1', { backoffLimit: 0 }));
  const rule = { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } };
  await cluster.create(JOBS, namespace.name, scriptJob('hopeless', 'exit 42', { podFailurePolicy: { rules: [rule] } }));

  await run('wait', '--for=condition=complete', 'job/parts', '--timeout=120s');
  const parts = await cluster.get(JOBS, namespace.name, 'parts');
  expect(parts.status).toMatchObject({ succeeded: 3, completedIndexes: '0-2', uncountedTerminatedPods: {} });
  for (const index of [0, 1, 2]) {
    const logs = await run('logs', '-l', `job-name=parts,batch.kubernetes.io/job-completion-index=${index}`);
    expect(logs).toContain(`part ${index} of parts-${index}`);
  }
  await run('wait', '--for=condition=failed', 'job/bad', 'job/hopeless', '--timeout=120s');
  const bad = await cluster.get(JOBS, namespace.name, 'bad');
  expect(conditionsOf(bad)).toEqual(['FailureTarget BackoffLimitExceeded', 'Failed BackoffLimitExceeded']);
  expect(bad.status).toMatchObject({ failed: 1 });
  const hopeless = await cluster.get(JOBS, namespace.name, 'hopeless');
  expect(hopeless.status?.conditions?.at(-1)?.message).toMatch(
    /^Container main for pod .*\/hopeless-\w+ failed with exit code 42 matching FailJob rule at index 0$/,
  );
});

test.concurrent('a suspended Job gives up its pods, runs when it is resumed, and is cleaned up after its time', async () => {
  await using namespace = await cluster.namespace();
  const run = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const suspend = (value: boolean) => run('patch', 'job', 'pause', '-p', JSON.stringify({ spec: { suspend: value } }));
  await cluster.create(
    JOBS,
    namespace.name,
    scriptJob('pause', 'until [ -f /tmp/go ]; do sleep 0.1; done; sleep 2', {
      suspend: true,
      ttlSecondsAfterFinished: 1,
    }),
  );
  await run('wait', '--for=condition=suspended', 'job/pause', '--timeout=120s');
  expect(await cluster.list(PODS, namespace.name)).toEqual([]);
  await suspend(false);
  await eventually(
    'it runs',
    60_000,
    async () => (await cluster.get(JOBS, namespace.name, 'pause')).status?.active === 1,
  );
  await eventually('its container is told to end', 120_000, async () => {
    await run('exec', 'job/pause', '--', 'touch', '/tmp/go');
    return true;
  });
  await run('wait', '--for=delete', 'job/pause', '--timeout=120s');
  await eventually('its pods are gone', 60_000, async () => (await cluster.list(PODS, namespace.name)).length === 0);
});

// Alone: Events of a leader that is killed may be lost.
test('a CronJob starts one Job for its minute, though the leader is killed just before', async () => {
  await using namespace = await cluster.namespace();
  const run = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  await run('create', 'cronjob', 'tick', `--image=${IMAGE}`, '--schedule=* * * * *', '--', 'true');
  await run('create', 'job', 'by-hand', '--from=cronjob/tick');
  const leader = await leaderOf(cluster, COMPONENTS[0]);
  // A busy machine takes seconds to kill it. Killed when it has made the Job, it might not have written the Event yet. The lease of a leader
  // that is killed lasts for longer than that.
  const minute = await eventually('the minute is almost over', 200_000, () => {
    const now = Date.now() / 1000;
    return now % 60 >= 56 ? Math.ceil(now / 60) : undefined;
  });
  await cluster.docker(['kill', leader.id]);
  const name = `tick-${minute}`;
  await eventually('its Job is there', 120_000, async () =>
    (await cluster.list(JOBS, namespace.name)).some(({ metadata }) => metadata.name === name),
  );
  await run('wait', '--for=condition=complete', `job/${name}`, 'job/by-hand', '--timeout=120s');
  const { status } = await eventually('its success is noted', 60_000, async () => {
    const found: CronJob = await cluster.get(CRON_JOBS, namespace.name, 'tick');
    return found.status?.lastSuccessfulTime === undefined ? undefined : found;
  });
  expect(Date.parse(status?.lastScheduleTime ?? '') / 60_000).toBeGreaterThanOrEqual(minute);
  const columns = '-o=custom-columns=M:.message';
  await eventually('one Event says so', 60_000, async () => {
    const events = await run('get', 'events', '--field-selector=involvedObject.name=tick', columns);
    return events.split('\n').filter((line) => line === `Created job ${name}`).length === 1;
  });
  await run('delete', 'cronjob', 'tick');
  await eventually('its Jobs and pods are gone', 60_000, async () => {
    const jobs = await cluster.list(JOBS, namespace.name);
    return jobs.length === 0 && (await cluster.list(PODS, namespace.name)).length === 0;
  });
});
