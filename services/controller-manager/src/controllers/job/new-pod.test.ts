import { TRACKING_FINALIZER } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { exampleJob, sketchedPod } from '../../testing/job-objects.ts';
import { COMPLETION_INDEX } from './job-rules.ts';
import { newJobPod } from './new-pod.ts';

const FIELD = `metadata.labels['${COMPLETION_INDEX}']`;
const VARIABLE = { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: FIELD } } };
const own = { name: 'JOB_COMPLETION_INDEX', value: 'mine' };

describe('the pod of a Job', () => {
  it('has the finalizer of the Job once, and no index where the Job has none', () => {
    const job = exampleJob({});
    expect(newJobPod(job, undefined, undefined).metadata).toMatchObject({
      generateName: 'work-',
      finalizers: [TRACKING_FINALIZER],
      ownerReferences: [{ kind: 'Job', uid: 'job', controller: true, blockOwnerDeletion: true }],
    });
    const { spec } = job;
    const template = { ...spec?.template, metadata: { finalizers: ['example.org/a', TRACKING_FINALIZER] } };
    const named = { ...job, spec: { ...spec, template } };
    expect(newJobPod(named, undefined, undefined).metadata.finalizers).toEqual(['example.org/a', TRACKING_FINALIZER]);
  });

  it('carries its index in name, host name, labels, annotations and the environment of all containers', () => {
    const job = exampleJob({ completionMode: 'Indexed', completions: 3 });
    const containers = [{ name: 'a' }, { name: 'b', env: [own] }];
    const template = { metadata: { labels: { job: 'work' } }, spec: { containers, initContainers: [{ name: 'i' }] } };
    const pod = newJobPod({ ...job, spec: { ...job.spec, template } }, 2, undefined);
    expect(pod.metadata).toMatchObject({
      generateName: 'work-2-',
      labels: { job: 'work', [COMPLETION_INDEX]: '2' },
      annotations: { [COMPLETION_INDEX]: '2' },
    });
    expect(pod.spec).toEqual({
      hostname: 'work-2',
      initContainers: [{ name: 'i', env: [VARIABLE] }],
      containers: [
        { name: 'a', env: [VARIABLE] },
        { name: 'b', env: [own] },
      ],
    });
    expect(template.spec.containers[0]).toEqual({ name: 'a' });
  });

  it('keeps its index in a name that has to be cut', () => {
    const job = exampleJob({ completionMode: 'Indexed', completions: 2000 });
    const long = { ...job, metadata: { ...job.metadata, name: 'j'.repeat(63) } };
    const name = newJobPod(long, 1234, undefined).metadata.generateName ?? '';
    expect(name).toBe(`${'j'.repeat(52)}-1234-`);
    expect(name).toHaveLength(58);
  });

  it.each([
    ['3', { 'batch.kubernetes.io/job-index-failure-count': '4' }],
    ['none', { 'batch.kubernetes.io/job-index-failure-count': '1' }],
    ['-1', { 'batch.kubernetes.io/job-index-failure-count': '1' }],
    ['99999999999', { 'batch.kubernetes.io/job-index-failure-count': '1' }],
  ])('adds to the failure count %s of the pod that it replaces', (count, expected) => {
    const job = exampleJob({ completionMode: 'Indexed', completions: 3, backoffLimitPerIndex: 5 });
    const failed = sketchedPod({ is: 'failed', index: 0 }, 'p', job, 0);
    failed.metadata.annotations = { 'batch.kubernetes.io/job-index-failure-count': count };
    expect(newJobPod(job, 0, failed).metadata.annotations).toEqual({ [COMPLETION_INDEX]: '0', ...expected });
  });
});
