import {
  CONFIG_MAPS,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Resource,
  RESOURCE_QUOTAS,
  SECRETS,
  SERVICES,
} from '@gantry/objects';
import { expect, it } from 'vitest';
import { STALE_MS } from '../../../controllers/disruption/plan.ts';
import { RECOUNT_MS } from '../../../controllers/resource-quota/plan.ts';
import { World } from '../world.ts';
import { LOAD } from '../autoscaling.ts';
import { autoscalerInvariant } from './autoscalers.ts';
import { daemonInvariant } from './daemons.ts';
import { addressInvariant } from './endpoints.ts';
import type { Invariant } from './invariant.ts';
import { jobCountInvariant, scheduleInvariant } from './jobs.ts';
import { foregroundInvariant, ownerInvariant } from './owners.ts';
import { podLifeInvariant, podRemovalInvariant } from './pods.ts';
import { quotaInvariant } from './quotas.ts';
import { quietMs, restViolations } from './rest.ts';
import { deleted, owned, play, type Step } from './scripted-world.ts';
import { volumeInvariant } from './volumes.ts';

const running = { spec: { nodeName: 'a' }, status: { phase: 'Running' } };
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

const inForeground = { ...deleted, finalizers: ['foregroundDeletion'] };
const ownedBy = (...owners: readonly (readonly [kind: string, name: string])[]): object => ({
  ownerReferences: owners.map(([kind, name]) => ({
    apiVersion: 'v1',
    kind,
    name,
    uid: name,
    blockOwnerDeletion: true,
  })),
});

const autoscaler = (desiredReplicas: number): object => ({
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, minReplicas: 1, maxReplicas: 3 },
  status: { desiredReplicas },
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
  [
    'what a living object owns is marked, though another owner is being deleted in the foreground',
    ownerInvariant(() => false),
    [
      [SECRETS, 'owner', {}],
      [CONFIG_MAPS, 'going', { metadata: inForeground }],
      [CONFIG_MAPS, 'one', { metadata: ownedBy(['ConfigMap', 'going']) }],
      [CONFIG_MAPS, 'one', { metadata: { ...ownedBy(['ConfigMap', 'going']), ...inForeground } }],
      [CONFIG_MAPS, 'two', { metadata: ownedBy(['ConfigMap', 'going'], ['Secret', 'owner']) }],
    ],
    [CONFIG_MAPS, 'two', { metadata: { ...ownedBy(['ConfigMap', 'going'], ['Secret', 'owner']), ...inForeground } }],
  ],
  [
    'an owner goes before what blocks its foreground deletion',
    foregroundInvariant,
    [
      [SECRETS, 'free', { metadata: inForeground }],
      [SECRETS, 'a', { metadata: ownedBy(['Secret', 'gone']) }],
      [SECRETS, 'free', undefined],
      [SECRETS, 'owner', { metadata: inForeground }],
      [SECRETS, 'b', { metadata: ownedBy(['Secret', 'owner']) }],
    ],
    [SECRETS, 'owner', undefined],
  ],
  [
    'an autoscaler wants more than its specs allow',
    autoscalerInvariant,
    [[HORIZONTAL_POD_AUTOSCALERS, 'h', autoscaler(3)]],
    [HORIZONTAL_POD_AUTOSCALERS, 'h', autoscaler(4)],
  ],
  [
    'two Services have one address',
    addressInvariant,
    [[SERVICES, 'one', { spec: { clusterIP: '10.96.0.9' } }]],
    [SERVICES, 'two', { spec: { clusterIP: '10.96.0.9' } }],
  ],
  [
    'a slice has an address twice',
    addressInvariant,
    [[ENDPOINT_SLICES, 's', { endpoints: [{ addresses: ['10.0.0.1'] }] }]],
    [ENDPOINT_SLICES, 's', { endpoints: [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.1'] }] }],
  ],
  [
    'a claim gets another volume',
    volumeInvariant,
    [[PERSISTENT_VOLUME_CLAIMS, 'c', { spec: { volumeName: 'one' } }]],
    [PERSISTENT_VOLUME_CLAIMS, 'c', { spec: { volumeName: 'two' } }],
  ],
  [
    'two claims have one volume',
    volumeInvariant,
    [[PERSISTENT_VOLUME_CLAIMS, 'one', { spec: { volumeName: 'v' } }]],
    [PERSISTENT_VOLUME_CLAIMS, 'two', { spec: { volumeName: 'v' } }],
  ],
  [
    'a claim goes under a running pod',
    volumeInvariant,
    [
      [PERSISTENT_VOLUME_CLAIMS, 'c', {}],
      [PODS, 'p', { ...running, spec: { ...running.spec, volumes: [{ persistentVolumeClaim: { claimName: 'c' } }] } }],
    ],
    [PERSISTENT_VOLUME_CLAIMS, 'c', undefined],
  ],
  [
    'a volume gets another claim',
    volumeInvariant,
    [[PERSISTENT_VOLUMES, 'v', { spec: { claimRef: { uid: 'one' } } }]],
    [PERSISTENT_VOLUMES, 'v', { spec: { claimRef: { uid: 'two' } } }],
  ],
  [
    'a volume goes before its claim',
    volumeInvariant,
    [
      [PERSISTENT_VOLUME_CLAIMS, 'c', { spec: { volumeName: 'v' } }],
      [PERSISTENT_VOLUMES, 'v', { spec: { claimRef: { namespace: 'n', name: 'c', uid: 'c' } } }],
    ],
    [PERSISTENT_VOLUMES, 'v', undefined],
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
  [
    'an object names an owner that is gone beside one that lives',
    CONFIG_MAPS,
    { metadata: ownedBy(['ConfigMap', 'gone'], ['ConfigMap', 'well']) },
  ],
  ['a deletion does not end', CONFIG_MAPS, { metadata: { ...deleted, finalizers: ['example.org/held'] } }],
  ['a Service has no slice', SERVICES, { spec: { selector: { app: 'a' } } }],
  [
    'a bound claim has no volume',
    PERSISTENT_VOLUME_CLAIMS,
    { spec: { volumeName: 'gone' }, status: { phase: 'Bound' } },
  ],
  ['a bound volume has no claim', PERSISTENT_VOLUMES, { spec: { claimRef: { uid: 'c' } }, status: { phase: 'Bound' } }],
  [
    'a local volume outlives its claim',
    PERSISTENT_VOLUMES,
    {
      metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': 'rancher.io/local-path' } },
      status: { phase: 'Released' },
    },
  ],
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

it('is at rest only when the mark of a deletion that did not happen was taken back', () => {
  const world = new World();
  const before = quietMs(world);
  const marked = (status: string): Step => [
    PODS,
    'p',
    { status: { conditions: [{ type: 'DisruptionTarget', status }] } },
  ];
  play(world, [marked('True')]);
  expect(quietMs(world)).toBeGreaterThan(STALE_MS);
  play(world, [marked('False')]);
  expect(quietMs(world)).toBe(before);
});

it('is not at rest where an autoscaled Deployment has not the replicas that its load asks for', () => {
  const world = new World();
  const scaled = (load: string): Step => [
    HORIZONTAL_POD_AUTOSCALERS,
    'h',
    {
      metadata: { annotations: { [LOAD]: load } },
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, minReplicas: 1, maxReplicas: 3 },
      status: { currentReplicas: 3, desiredReplicas: 3 },
    },
  ];
  play(world, [[DEPLOYMENTS, 'd', { spec: { replicas: 3 } }], scaled('5')]);
  expect(restViolations(world)).toEqual([]);
  play(world, [scaled('2')]);
  expect(restViolations(world)).toHaveLength(1);
});
