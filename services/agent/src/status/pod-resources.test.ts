import type { Container, Pod, PodStatus, ResourceRequirements } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { PodGroupState } from '../runtime/pod-groups.ts';
import { container, pod } from '../testing/pods.ts';
import { podResourcesStatus } from './pod-resources.ts';

type Spec = Partial<NonNullable<Pod['spec']>>;

const whole = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const sized = (resources: ResourceRequirements, change: Partial<Container> = {}) =>
  container('c', { resources, ...change });
const shown = (spec: Spec, status?: PodStatus, group?: PodGroupState) => podResourcesStatus(pod(spec, status), group);

it('a pod with a quantity that cannot be read is not held up', () => {
  expect(shown({ containers: [sized({ requests: { cpu: 'much' } })] })).toEqual({});
});

describe('a pod without pod-level resources', () => {
  it.each<[string, Spec, ReturnType<typeof shown>]>([
    ['nothing, where its containers ask for nothing', {}, { resources: {} }],
    [
      'what its container has',
      { containers: [sized(whole('0.5', '128M'))] },
      { resources: whole('500m', '128M'), allocatedResources: { cpu: '500m', memory: '128M' } },
    ],
    [
      'the sums of its containers, in the format of the first',
      { containers: [sized(whole('500m', '64Mi')), sized(whole('500m', '64M'))] },
      { resources: whole('1', '128036Ki'), allocatedResources: { cpu: '1', memory: '128036Ki' } },
    ],
    [
      'no limit that a container does not have',
      { containers: [sized(whole('1', '1Mi')), sized({ limits: { cpu: '1' }, requests: { cpu: '1' } })] },
      {
        resources: { limits: { cpu: '2' }, requests: { cpu: '2', memory: '1Mi' } },
        allocatedResources: { cpu: '2', memory: '1Mi' },
      },
    ],
    [
      'no limit that an init container does not have',
      { containers: [sized(whole('1', '1Mi'))], initContainers: [sized({ requests: { cpu: '3' } })] },
      {
        resources: { requests: { cpu: '3', memory: '1Mi' } },
        allocatedResources: { cpu: '3', memory: '1Mi' },
      },
    ],
    [
      'its sidecars with its containers',
      {
        containers: [sized(whole('1', '1Mi'))],
        initContainers: [sized(whole('1', '1Mi'), { restartPolicy: 'Always' }), sized(whole('3', '1Ki'))],
      },
      { resources: whole('4', '2Mi'), allocatedResources: { cpu: '4', memory: '2Mi' } },
    ],
    [
      'as requested at pod level only what may be: CPU, memory and huge pages',
      {
        containers: [
          sized({
            requests: { memory: '1Mi', 'hugepages-2Mi': '2Mi', 'ephemeral-storage': '1Gi', 'example.com/gpu': '1' },
            limits: { 'hugepages-2Mi': '2Mi', 'example.com/gpu': '1', 'ephemeral-storage': '1Gi' },
          }),
        ],
      },
      {
        resources: { requests: { memory: '1Mi', 'hugepages-2Mi': '2Mi' } },
        allocatedResources: {
          memory: '1Mi',
          'hugepages-2Mi': '2Mi',
          'ephemeral-storage': '1Gi',
          'example.com/gpu': '1',
        },
      },
    ],
    [
      'amounts of 0, which are no limits',
      { containers: [sized(whole('0', '0'))] },
      { resources: { requests: { cpu: '0', memory: '0' } }, allocatedResources: { cpu: '0', memory: '0' } },
    ],
    [
      'its overhead in what it counts with alone',
      { containers: [sized(whole('1', '1Mi'))], overhead: { cpu: '250m', memory: '1Mi' } },
      { resources: whole('1', '1Mi'), allocatedResources: { cpu: '1250m', memory: '2Mi' } },
    ],
    [
      'the same where its own lists are empty',
      { containers: [sized(whole('1', '1Mi'))], resources: { requests: {}, limits: {} } },
      { resources: whole('1', '1Mi'), allocatedResources: { cpu: '1', memory: '1Mi' } },
    ],
  ])('shows %s', (_, spec, expected) => {
    expect(shown(spec)).toEqual(expected);
  });
});

describe('a pod with pod-level resources', () => {
  const containers = [sized({ requests: { cpu: '250m', memory: '1Mi', 'ephemeral-storage': '1Gi' } })];

  it('shows its own, and counts with them and with what its containers alone have', () => {
    const resources = { requests: { cpu: '1' }, limits: { memory: '1Gi' } };
    const allocatedResources = { cpu: '1', memory: '1Mi', 'ephemeral-storage': '1Gi' };
    expect(shown({ containers, resources })).toEqual({ resources, allocatedResources });
    expect(shown({ containers, resources, overhead: { cpu: '250m' } })).toEqual({
      resources,
      allocatedResources: { ...allocatedResources, cpu: '1250m' },
    });
  });

  it('shows the limits of before until its control group has the new ones', () => {
    const before = whole('1', '1Gi');
    const group: PodGroupState = {
      limits: { cpuShares: 1024, cpuQuotaMicros: 100_000, memoryBytes: 2 ** 30 },
      precision: { cpuShares: 1, memoryBytes: 1 },
    };
    expect(shown({ resources: whole('2', '2Gi') }, { resources: before }, group).resources).toEqual({
      requests: { cpu: '2', memory: '2Gi' },
      limits: before.limits,
    });
    expect(shown({ resources: before }, { resources: whole('2', '2Gi') }, group).resources).toEqual(before);
  });
});
