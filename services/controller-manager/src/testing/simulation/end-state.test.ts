import {
  JOBS,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  REPLICA_SETS,
  type Resource,
} from '@gantry/objects';
import { expect, it } from 'vitest';
import { type EndState, followEndState } from './end-state.ts';
import { World } from './world.ts';

type Step = readonly [resource: Resource, name: string, content: object | undefined];

/** The end state of a world into which these objects are put one after the other. `undefined` removes an object. */
function followed(steps: readonly Step[]): EndState {
  const world = new World();
  const endState = followEndState(world);
  steps.forEach(([resource, name, content], index) => {
    const given: Partial<KubeObject> | undefined = content;
    const metadata = { name, namespace: 'n', uid: name, ...given?.metadata };
    const object = given && { apiVersion: 'v1', kind: resource.kind, ...given, metadata };
    world.take({ resource, name: `n/${name}`, resourceVersion: (index + 1) * 256, object });
  });
  return endState;
}

const endOf = (steps: readonly Step[]): readonly string[] => followed(steps).lines();

const JOB: Step = [JOBS, 'j', { status: { succeeded: 2 } }];
const OF_JOB = {
  generateName: 'j-',
  ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'j', controller: true }],
};
const pod = (name: string, phase: string, metadata: object = {}, reason = 'None'): Step => [
  PODS,
  name,
  {
    metadata: { ...OF_JOB, ...metadata },
    status: { phase, conditions: [{ type: 'DisruptionTarget', status: 'True', reason }] },
  },
];
const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const evicted = (name: string, phase: string): readonly Step[] => [
  pod(name, phase, {}, 'DeletionByTaintManager'),
  pod(name, phase, leaving, 'DeletionByTaintManager'),
  [PODS, name, undefined],
];

it('is the same whether or not a pod that had succeeded was evicted from its node', () => {
  const both = endOf([JOB, pod('j-a', 'Succeeded'), pod('j-b', 'Succeeded')]);
  expect(both).toHaveLength(3);
  expect(endOf([JOB, pod('j-a', 'Succeeded'), ...evicted('j-b', 'Succeeded')])).toEqual(both);
});

it('is the same whether or not a pod was evicted from its node before it succeeded', () => {
  const both = endOf([JOB, pod('j-a', 'Succeeded'), pod('j-b', 'Succeeded')]);
  const overtaken: readonly Step[] = [
    pod('j-b', 'Running', {}, 'DeletionByTaintManager'),
    pod('j-b', 'Running', leaving, 'DeletionByTaintManager'),
    pod('j-b', 'Succeeded', leaving, 'DeletionByTaintManager'),
    [PODS, 'j-b', undefined],
  ];
  expect(endOf([JOB, pod('j-a', 'Succeeded'), ...overtaken])).toEqual(both);
});

it('is the same whether or not the write that took away the finalizer of a pod has removed it', () => {
  const tracked = { finalizers: ['batch.kubernetes.io/job-tracking'] };
  const kept = endOf([JOB, pod('j-a', 'Succeeded', tracked), pod('j-a', 'Succeeded')]);
  const removed: readonly Step[] = [
    pod('j-a', 'Succeeded', tracked, 'DeletionByTaintManager'),
    pod('j-a', 'Succeeded', { ...tracked, ...leaving }, 'DeletionByTaintManager'),
    [PODS, 'j-a', undefined],
  ];
  expect(endOf([JOB, ...removed])).toEqual(kept);
});

it('does not count a pod that its Job has counted as failed, and replaced, before it succeeded', () => {
  const counting: Step = [JOBS, 'j', { status: { uncountedTerminatedPods: { failed: ['j-a'] } } }];
  const overtaken: readonly Step[] = [
    pod('j-a', 'Running', leaving, 'DeletionByTaintManager'),
    counting,
    pod('j-a', 'Succeeded', leaving, 'DeletionByTaintManager'),
    [PODS, 'j-a', undefined],
  ];
  const one = endOf([JOB, pod('j-b', 'Succeeded')]);
  expect(endOf([...overtaken, JOB, pod('j-b', 'Succeeded')])).toEqual(one);
});

it('does not count a pod that its Job released as one too many before it succeeded', () => {
  const tracked = { finalizers: ['batch.kubernetes.io/job-tracking'] };
  const released: readonly Step[] = [pod('j-a', 'Running', tracked), pod('j-a', 'Running'), pod('j-a', 'Succeeded')];
  const one = endOf([JOB, pod('j-b', 'Succeeded')]);
  expect(endOf([JOB, ...released, pod('j-b', 'Succeeded')])).toEqual(one);
  expect(endOf([JOB, ...released, ...evicted('j-a', 'Succeeded'), pod('j-b', 'Succeeded')])).toEqual(one);
});

it.each<readonly [name: string, steps: readonly Step[]]>([
  ['a pod that was evicted before it had ended', evicted('j-b', 'Running')],
  [
    'a pod that was deleted for another reason',
    [pod('j-b', 'Succeeded', leaving, 'EvictionByEvictionAPI'), [PODS, 'j-b', undefined]],
  ],
])('does not count %s', (_name, steps) => {
  const one = endOf([JOB, pod('j-a', 'Succeeded')]);
  expect(endOf([JOB, pod('j-a', 'Succeeded'), ...steps])).toEqual(one);
});

it('does not count an evicted pod of a Job that is gone, or has been made again', () => {
  const steps: readonly Step[] = [JOB, ...evicted('j-a', 'Succeeded'), [JOBS, 'j', undefined]];
  expect(endOf(steps)).toEqual([]);
  expect(endOf([...steps, [JOBS, 'j', { metadata: { uid: 'another' } }]])).toHaveLength(1);
});

it.each([
  ['an earlier set without replicas', 0, '1', 1],
  ['an earlier set with replicas', 2, '1', 2],
  ['the newest set without replicas', 0, '3', 2],
])(
  'for %s, with %i replicas and revision %s, the end state distinguishes %i sizes of its Deployment',
  (_, replicas, revision, sizes) => {
    const of = (size: string, number: string) => ({
      'deployment.kubernetes.io/desired-replicas': size,
      'deployment.kubernetes.io/revision': number,
    });
    const newest: Step = [REPLICA_SETS, 'newest', { metadata: { annotations: of('2', '2') }, spec: { replicas: 2 } }];
    const set = (size: string): Step => [
      REPLICA_SETS,
      'r',
      { metadata: { annotations: of(size, revision) }, spec: { replicas } },
    ];
    const linesOf = (size: string) => endOf([newest, set(size)]).filter((line) => line.includes('n/r '));
    expect(new Set([...linesOf('2'), ...linesOf('4')]).size).toBe(sizes);
  },
);

it('is the same whether or not a set was removed before its template became the newest one again', () => {
  const set = (past: object): readonly Step[] => [
    [REPLICA_SETS, 'r', { metadata: { annotations: { 'deployment.kubernetes.io/revision': '3', ...past } } }],
  ];
  const kept = endOf(set({ 'deployment.kubernetes.io/revision-history': '1' }));
  expect(endOf(set({}))).toEqual(kept);
});

it.each([
  ['is there', {}, []],
  ['is being deleted', leaving, ['fast']],
])('a class is wasted by a volume that was given to a claim which %s', (_name, metadata, classes) => {
  const spec = { storageClassName: 'fast', claimRef: { namespace: 'n', name: 'c', uid: 'c' } };
  const end = followed([
    [PERSISTENT_VOLUME_CLAIMS, 'c', { metadata }],
    [PERSISTENT_VOLUMES, 'v', { spec, status: { phase: 'Bound' } }],
    [PERSISTENT_VOLUME_CLAIMS, 'c', undefined],
    [PERSISTENT_VOLUMES, 'v', { spec, status: { phase: 'Released' } }],
  ]);
  expect(end.wastedClasses()).toEqual(classes);
});
