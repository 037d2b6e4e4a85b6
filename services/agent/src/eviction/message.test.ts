import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { evictionMessage } from './message.ts';
import type { ContainerUse } from './rank.ts';
import type { SignalName, StarvedResource } from './signals.ts';
import { parseThresholds } from './thresholds.ts';

const MI = 2 ** 20;
const due = parseThresholds({
  hard: 'memory.available<100Mi,nodefs.available<10%,pid.available<1k,nodefs.inodesFree<5%',
  soft: '',
  softGracePeriod: '',
  minimumReclaim: '',
});
const observed = new Map<SignalName, { available: number; capacity: number }>([
  ['memory.available', { available: 51 * MI, capacity: 2 ** 34 }],
  ['nodefs.available', { available: 1_000_001, capacity: 1000 * MI }],
  ['pid.available', { available: 999, capacity: 32_768 }],
  ['nodefs.inodesFree', { available: 3000, capacity: 100_000 }],
]);
const memory = (name: string, mebibytes: number): ContainerUse => ({ name, memoryBytes: mebibytes * MI });
const requests = (amount: string) => ({ resources: { requests: { memory: amount, 'ephemeral-storage': amount } } });
const SPEC = {
  initContainers: [container('init', requests('100Mi'))],
  containers: [container('web', requests('200Mi')), container('log')],
  ephemeralContainers: [container('debug')],
};
const LOW_MEMORY = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 51Mi. ';

it.each<{ name: string; resource: StarvedResource; uses?: ContainerUse[]; whole?: string; expected: string }>([
  { name: 'nothing was measured', resource: 'memory', expected: LOW_MEMORY },
  { name: 'no container exceeds its request', resource: 'memory', uses: [memory('web', 200)], expected: LOW_MEMORY },
  {
    name: 'containers exceed their requests, an init container among them',
    resource: 'memory',
    uses: [memory('web', 201), memory('log', 1), memory('init', 101)],
    expected: `${LOW_MEMORY}Container web was using 201Mi, request is 200Mi, has larger consumption of memory. Container log was using 1Mi, request is 0, has larger consumption of memory. Container init was using 101Mi, request is 100Mi, has larger consumption of memory. `,
  },
  {
    name: 'an ephemeral container is not blamed',
    resource: 'memory',
    uses: [memory('debug', 900)],
    expected: LOW_MEMORY,
  },
  {
    name: 'the pod has a pod-level request',
    resource: 'memory',
    uses: [memory('web', 100), memory('log', 50)],
    whole: '120Mi',
    expected: `${LOW_MEMORY}Pod web was using 150Mi, request is 120Mi, has larger consumption of memory. Container log was using 50Mi, request is 0, has larger consumption of memory. `,
  },
  {
    name: 'a container has written more than it requests',
    resource: 'ephemeral-storage',
    uses: [{ name: 'web', storageBytes: 201 * MI }],
    expected:
      'The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 1000001. Container web was using 201Mi, request is 200Mi, has larger consumption of ephemeral-storage. ',
  },
  {
    name: 'processes',
    resource: 'pids',
    uses: [{ name: 'web', processes: 900 }],
    expected: 'The node was low on resource: pids. Threshold quantity: 1k, available: 999. ',
  },
  {
    name: 'inodes',
    resource: 'inodes',
    expected: 'The node was low on resource: inodes. Threshold quantity: 5000, available: 3k. ',
  },
])('an eviction says what there was too little of: $name', ({ resource, uses = [], whole, expected }) => {
  const resources = whole === undefined ? {} : { resources: { requests: { memory: whole } } };
  const candidate = { pod: pod({ ...SPEC, ...resources }), containers: uses, volumeBytes: 0, inodes: 0 };
  expect(evictionMessage(resource, candidate, due, observed)).toBe(expected);
});
