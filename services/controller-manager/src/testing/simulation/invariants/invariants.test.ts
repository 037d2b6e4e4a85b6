import { CONFIG_MAPS, DAEMON_SETS, JOBS, type KubeObject, PODS, type Resource, RESOURCE_QUOTAS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { RECOUNT_MS } from '../../../controllers/resource-quota/plan.ts';
import { World } from '../world.ts';
import { daemonInvariant } from './daemons.ts';
import type { Invariant } from './invariant.ts';
import { jobCountInvariant, scheduleInvariant } from './jobs.ts';
import { ownerInvariant } from './owners.ts';
import { podLifeInvariant, podRemovalInvariant } from './pods.ts';
import { quotaInvariant } from './quotas.ts';
import { quietMs, restViolations } from './rest.ts';

type Step = readonly [resource: Resource, name: string, object: object | undefined];

/** Puts objects one after the other; undefined removes one. */
function play(world: World, steps: readonly Step[]): void {
  steps.forEach(([resource, name, content], index) => {
    const metadata = { name, namespace: 'n', uid: name, ...(content as Partial<KubeObject> | undefined)?.metadata };
    const object = content && ({ apiVersion: 'v1', kind: resource.kind, ...content, metadata } as KubeObject);
    world.take({ resource, name: `n/${name}`, resourceVersion: (index + 1) * 256, object });
  });
}

const owned = (kind: string, name: string): object => ({
  ownerReferences: [{ apiVersion: 'v1', kind, name, uid: name, controller: true }],
});
const running = { spec: { nodeName: 'a' }, status: { phase: 'Running' } };
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 };
const onNode = {
  nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }],
};
const daemonPod = {
  metadata: owned('DaemonSet', 'd'),
  spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onNode } } },
};
const scheduled = (time: string): object => ({
  metadata: { ...owned('CronJob', 'c'), annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': time } },
});

const CASES: readonly (readonly [name: string, invariant: Invariant, good: readonly Step[], bad: Step])[] = [
  ['a phase goes back', podLifeInvariant, [[PODS, 'p', running]], [PODS, 'p', { status: { phase: 'Pending' } }]],
  [
    'a deletion is taken back',
    podLifeInvariant,
    [
      [PODS, 'p', running],
      [PODS, 'p', { ...running, metadata: deleted }],
    ],
    [PODS, 'p', running],
  ],
  ['a running pod is removed', podRemovalInvariant(() => false), [[PODS, 'p', running]], [PODS, 'p', undefined]],
  [
    'a node has two pods of a DaemonSet',
    daemonInvariant,
    [
      [DAEMON_SETS, 'd', {}],
      [PODS, 'one', daemonPod],
    ],
    [PODS, 'two', daemonPod],
  ],
  [
    'a Job counts a pod twice',
    jobCountInvariant,
    [
      [PODS, 'p', { metadata: owned('Job', 'j'), status: { phase: 'Succeeded' } }],
      [JOBS, 'j', { status: { succeeded: 1 } }],
    ],
    [JOBS, 'j', { status: { succeeded: 2 } }],
  ],
  [
    'a schedule fires twice',
    scheduleInvariant,
    [
      [JOBS, 'one', scheduled('1')],
      [JOBS, 'two', scheduled('2')],
    ],
    [JOBS, 'three', scheduled('2')],
  ],
  [
    'a quota is exceeded',
    quotaInvariant,
    [[RESOURCE_QUOTAS, 'q', { status: { hard: { pods: '1' }, used: { pods: '1' } } }]],
    [RESOURCE_QUOTAS, 'q', { status: { hard: { pods: '1' }, used: { pods: '2' } } }],
  ],
  [
    'what a living object owns is removed',
    ownerInvariant(() => false),
    [
      [CONFIG_MAPS, 'owner', {}],
      [CONFIG_MAPS, 'one', { metadata: owned('ConfigMap', 'gone') }],
      [CONFIG_MAPS, 'one', undefined],
      [CONFIG_MAPS, 'two', { metadata: owned('ConfigMap', 'owner') }],
    ],
    [CONFIG_MAPS, 'two', undefined],
  ],
];

it.each(CASES)('is violated when %s', (_name, invariant, good, bad) => {
  const world = new World();
  const violations: string[] = [];
  invariant.watch(world, (violation) => violations.push(violation));
  play(world, good);
  expect(violations).toEqual([]);
  play(world, [bad]);
  expect(violations).toHaveLength(1);
});

it.each<readonly [name: string, resource: Resource, object: object]>([
  ['a status has not observed its spec', JOBS, { metadata: { generation: 2 }, status: { observedGeneration: 1 } }],
  ['an object survives its owners', CONFIG_MAPS, { metadata: owned('ConfigMap', 'gone') }],
  ['a deletion does not end', CONFIG_MAPS, { metadata: { ...deleted, finalizers: ['example.org/held'] } }],
  ['a quota counts what is not there', RESOURCE_QUOTAS, { status: { used: { pods: '1' } } }],
])('a cluster is not at rest where %s', (_name, resource, object) => {
  const world = new World();
  play(world, [[CONFIG_MAPS, 'well', {}]]);
  expect(restViolations(world)).toEqual([]);
  play(world, [[resource, 'wrong', object]]);
  expect(restViolations(world)).toHaveLength(1);
});

it('is at rest only when a quota was counted again: a failed write may have left a charge', () => {
  const world = new World();
  const before = quietMs(world);
  play(world, [[RESOURCE_QUOTAS, 'q', {}]]);
  expect(quietMs(world)).toBeGreaterThan(RECOUNT_MS);
  expect(before).toBeLessThan(RECOUNT_MS);
});
