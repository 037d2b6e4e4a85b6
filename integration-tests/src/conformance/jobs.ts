import { BatchV1Api, type V1CronJob, type V1Job, type V1JobSpec } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { container } from './workloads.ts';
import { type Proof, proof } from './world.ts';

const DONE_MS = 180_000;
const COMPLETIONS = 4;
const IMAGE = 'busybox:1.36';

function jobSpec(change: Partial<V1JobSpec> = {}): V1JobSpec {
  const containers = [container({ image: IMAGE, command: ['true'] })];
  return { template: { spec: { restartPolicy: 'Never', containers } }, ...change };
}

function cronJob(name: string, suspend: boolean): V1CronJob {
  return { metadata: { name }, spec: { schedule: '*/1 * * * ?', suspend, jobTemplate: { spec: jobSpec() } } };
}

export const JOB_PROOFS: readonly Proof[] = [
  proof('[sig-apps] Job should manage the lifecycle of a job [Conformance]', async (world) => {
    const namespace = await world.namespace();
    const jobs = new Resource<V1Job>(world.cluster, KINDS.Job, namespace);
    const name = world.unique('job');
    const labels = { conformance: name };
    const labelSelector = `conformance=${name}`;
    using watching = await jobs.watch({ labelSelector });
    const spec = jobSpec({ parallelism: 2, completions: COMPLETIONS, backoffLimit: 6, suspend: true });
    const created = await jobs.create({ metadata: { name, labels }, spec });

    const patched = await jobs.patch(name, 'strategic', { metadata: { labels: { [name]: 'patched' } } });
    expectNewer(patched, created);
    await watching.until('the patch', ({ object }) => object.metadata?.labels?.[name] === 'patched');

    await retryOnConflict(async () => {
      const found = await jobs.get(name);
      const annotations = { ...found.metadata?.annotations, updated: 'true' };
      if (found.spec !== undefined) found.spec.suspend = false;
      return await jobs.replace({ ...found, metadata: { ...found.metadata, annotations } });
    });
    await watching.until('the update', ({ object }) => object.metadata?.annotations?.['updated'] === 'true');
    expect((await jobs.listAll({ labelSelector })).items).toHaveLength(1);

    const complete = await eventually('the Job is complete', DONE_MS, async () => {
      const { status } = await jobs.get(name);
      return status?.conditions?.some(({ type, status: value }) => type === 'Complete' && value === 'True') && status;
    });
    expect(complete.succeeded).toBe(COMPLETIONS);
    expect(complete.conditions).toContainEqual(
      expect.objectContaining({ type: 'Complete', reason: 'CompletionsReached' }),
    );

    await world
      .api(BatchV1Api)
      .deleteCollectionNamespacedJob({ namespace, labelSelector, propagationPolicy: 'Background' });
    await watching.until('the deletion', ({ type }) => type === 'DELETED');
    expect((await jobs.listAll({ labelSelector })).items).toEqual([]);
  }),

  proof('[sig-apps] CronJob should not schedule jobs when suspended [Slow] [Conformance]', async (world) => {
    const namespace = await world.namespace();
    const cronJobs = new Resource<V1CronJob>(world.cluster, KINDS.CronJob, namespace);
    const jobs = new Resource<V1Job>(world.cluster, KINDS.Job, namespace);
    await cronJobs.create(cronJob('suspended', true));
    // One that is not suspended shows when the controller has looked at the minute.
    await cronJobs.create(cronJob('awake', false));
    const names = async () =>
      (await jobs.list()).items.flatMap(({ metadata }) => metadata?.ownerReferences ?? []).map((owner) => owner.name);
    await eventually('the other one starts a Job', DONE_MS, async () => (await names()).includes('awake'));
    expect(await names()).not.toContain('suspended');
    expect((await cronJobs.get('suspended')).status?.active ?? []).toEqual([]);
    await cronJobs.delete('suspended');
  }),
];
