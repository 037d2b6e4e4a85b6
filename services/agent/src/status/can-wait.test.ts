import type { ContainerStatus, PodCondition, PodStatus } from '@gantry/objects';
import { expect, it } from 'vitest';
import { canWait } from './can-wait.ts';

const NEW: PodStatus = { phase: 'Pending', qosClass: 'BestEffort' };
const AMOUNTS = { requests: { cpu: '1' } };
const container = (state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  ...{ name: 'main', ready: false, restartCount: 0, image: 'a', imageID: '', lastState: {} },
  ...{ state, ...more },
});
const condition = (type: string, status: string): PodCondition => ({ type, status });
const CREATING = container({ waiting: { reason: 'ContainerCreating' } });
const RUNNING: PodStatus = {
  ...{ phase: 'Running', podIP: '10.1.0.2', observedGeneration: 1 },
  conditions: [condition('Ready', 'True'), condition('PodReadyToStartContainers', 'True')],
  containerStatuses: [container({ running: { startedAt: '2026-01-01T00:00:00Z' } })],
};

it.each<[string, PodStatus, PodStatus]>([
  ['a pod that the node has seen', NEW, { ...NEW, hostIP: '10.0.0.1', startTime: '2026-01-01T00:00:00Z' }],
  ['what a pod was granted first', NEW, { ...NEW, resources: AMOUNTS, allocatedResources: AMOUNTS.requests }],
  ['nothing that was granted', NEW, { ...NEW, resources: {} }],
  ['containers that are made', NEW, { ...NEW, containerStatuses: [CREATING], initContainerStatuses: [CREATING] }],
  [
    'what is not true yet',
    NEW,
    { ...NEW, conditions: [condition('Ready', 'False'), condition('Initialized', 'True')] },
  ],
  [
    'its address',
    { ...NEW, containerStatuses: [CREATING] },
    { ...NEW, containerStatuses: [CREATING], podIP: '10.1.0.2' },
  ],
  ['a newer generation', RUNNING, { ...RUNNING, observedGeneration: 2 }],
  [
    'a sandbox that is gone',
    RUNNING,
    { ...RUNNING, conditions: [condition('Ready', 'True'), condition('PodReadyToStartContainers', 'False')] },
  ],
])('clients can wait for %s', (_what, before, after) => {
  expect(canWait(before, after)).toBe(true);
});

it.each<[string, PodStatus, PodStatus]>([
  ['a pod that runs', NEW, RUNNING],
  ['a pod that runs with what it was granted first', NEW, { ...RUNNING, resources: AMOUNTS }],
  ['new resources', { ...RUNNING, resources: {} }, { ...RUNNING, resources: AMOUNTS }],
  [
    'new requests',
    { ...RUNNING, resources: AMOUNTS, allocatedResources: AMOUNTS.requests },
    { ...RUNNING, resources: AMOUNTS, allocatedResources: { cpu: '2' } },
  ],
  ['a pod that failed', NEW, { ...NEW, phase: 'Failed', reason: 'Evicted' }],
  ['a pod that is not ready any more', RUNNING, { ...RUNNING, conditions: [condition('Ready', 'False')] }],
  [
    'an image that is not there',
    NEW,
    { ...NEW, containerStatuses: [container({ waiting: { reason: 'ErrImagePull' } })] },
  ],
  ['a container that begins again', RUNNING, { ...RUNNING, containerStatuses: [{ ...CREATING, restartCount: 1 }] }],
  [
    'an init container that ended',
    { ...NEW, initContainerStatuses: [container({ running: {} })] },
    { ...NEW, initContainerStatuses: [container({ terminated: { exitCode: 0 } })] },
  ],
  [
    'a resize that has to wait',
    RUNNING,
    { ...RUNNING, conditions: [...(RUNNING.conditions ?? []), condition('PodResizePending', 'True')] },
  ],
])('clients do not wait for %s', (_what, before, after) => {
  expect(canWait(before, after)).toBe(false);
});
