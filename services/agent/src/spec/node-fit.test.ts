import type { Node, Pod, PodSpec } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { container, nodeOf, pod } from '../testing/pods.ts';
import { mismatchOf, shortagesOf } from './node-fit.ts';
import { shortageRejection } from './shortage.ts';

const asking = (requests: Readonly<Record<string, string>>, spec: Partial<PodSpec> = {}): Pod =>
  pod({ containers: [container('main', { resources: { requests } })], ...spec });
const many = (count: number): readonly Pod[] => Array.from({ length: count }, () => asking({}));

describe('what a node lacks for a pod', () => {
  it.each<{
    readonly name: string;
    readonly pod: Pod;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly admitted?: readonly Pod[];
    readonly expected: readonly string[];
  }>([
    { name: 'all of a resource', pod: asking({ cpu: '2' }), allocatable: { cpu: '2' }, expected: [] },
    {
      name: 'CPU, in thousandths',
      pod: asking({ cpu: '1000' }),
      allocatable: { cpu: '1950m' },
      admitted: [asking({ cpu: '150m' })],
      expected: ["OutOfcpu Node didn't have enough resource: cpu, requested: 1000000, used: 150, capacity: 1950"],
    },
    {
      name: 'memory, in bytes',
      pod: asking({ memory: '1Gi' }),
      allocatable: { memory: '1000Mi' },
      expected: [
        "OutOfmemory Node didn't have enough resource: memory, requested: 1073741824, used: 0, capacity: 1048576000",
      ],
    },
    {
      name: 'the disk',
      pod: asking({ 'ephemeral-storage': '2' }),
      allocatable: { 'ephemeral-storage': '1' },
      expected: [
        "OutOfephemeral-storage Node didn't have enough resource: ephemeral-storage, requested: 2, used: 0, capacity: 1",
      ],
    },
    {
      name: 'pods, though none requests anything',
      pod: asking({}),
      allocatable: { pods: '3' },
      admitted: many(3),
      expected: ["OutOfpods Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"],
    },
    {
      name: 'an extended resource',
      pod: asking({ 'example.com/dongle': '2' }),
      allocatable: { 'example.com/dongle': '3' },
      admitted: [asking({ 'example.com/dongle': '2' })],
      expected: [
        "OutOfexample.com/dongle Node didn't have enough resource: example.com/dongle, requested: 2, used: 2, capacity: 3",
      ],
    },
    {
      name: 'an extended resource that the node does not have',
      pod: asking({ 'example.com/dongle': '2' }),
      expected: [],
    },
    {
      name: 'huge pages',
      pod: asking({ 'hugepages-2Mi': '2Mi' }),
      allocatable: { 'hugepages-2Mi': '0' },
      expected: [
        "OutOfhugepages-2Mi Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
      ],
    },
    {
      name: 'nothing that is requested, on a node that is overcommitted',
      pod: asking({ memory: '1Mi' }),
      allocatable: { cpu: '1' },
      admitted: [asking({ cpu: '4' })],
      expected: [],
    },
    {
      name: "a pod's overhead",
      pod: asking({ cpu: '1' }, { overhead: { cpu: '1m' } }),
      allocatable: { cpu: '1' },
      expected: ["OutOfcpu Node didn't have enough resource: cpu, requested: 1001, used: 0, capacity: 1000"],
    },
    {
      name: 'what was granted to a pod that waits for more counts, not what it asks for',
      pod: asking({ cpu: '1' }),
      allocatable: { cpu: '2' },
      admitted: [
        {
          ...asking({ cpu: '2' }),
          status: {
            containerStatuses: [
              { name: 'main', ready: true, restartCount: 0, image: '', imageID: '', allocatedResources: { cpu: '1' } },
            ],
          },
        },
      ],
      expected: [],
    },
    {
      name: 'several resources, CPU and memory first',
      pod: asking({ 'example.com/a': '1', memory: '1', cpu: '1m' }),
      allocatable: { cpu: '0', memory: '0', pods: '0', 'example.com/a': '0' },
      expected: ['pods', 'cpu', 'memory', 'example.com/a'].map((name) => expect.stringContaining(`OutOf${name} `)),
    },
  ])('$name', ({ pod: one, allocatable, admitted = [], expected }) => {
    const found = shortagesOf(one, nodeOf('n', allocatable), admitted).map(shortageRejection);
    expect(found.map(({ reason, message }) => `${reason} ${message}`)).toEqual(expected);
  });
});

describe('a pod that no room helps', () => {
  const STATIC = '0123456789abcdef0123456789abcdef';
  const labelled: Partial<Node> = { metadata: { name: 'n', labels: { disk: 'ssd' } } };
  const tainted = (effect: string): Partial<Node> => ({ spec: { taints: [{ key: 'k', value: 'v', effect }] } });
  const named = (name: string): PodSpec['affinity'] => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }],
      },
    },
  });
  const AFFINITY = "NodeAffinity Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
  const TAINT = "TaintToleration Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
  it.each<{
    readonly name: string;
    readonly spec?: Partial<PodSpec>;
    readonly node?: Partial<Node>;
    readonly uid?: string;
    readonly expected?: string;
  }>([
    { name: 'its labels match', spec: { nodeSelector: { disk: 'ssd' } }, node: labelled },
    { name: 'they do not', spec: { nodeSelector: { disk: 'hdd' } }, node: labelled, expected: AFFINITY },
    { name: 'a DaemonSet meant this node', spec: { affinity: named('n') } },
    { name: 'it meant another one', spec: { affinity: named('m') }, expected: AFFINITY },
    { name: 'a taint evicts it', node: tainted('NoExecute'), expected: TAINT },
    { name: 'a taint keeps the scheduler away', node: tainted('NoSchedule') },
    {
      name: 'it tolerates the taint',
      spec: { tolerations: [{ key: 'k', operator: 'Exists' }] },
      node: tainted('NoExecute'),
    },
    { name: 'it is static', node: tainted('NoExecute'), uid: STATIC },
  ])('$name: $expected', ({ spec, node, uid = 'uid-1', expected }) => {
    const found = mismatchOf(pod(spec, {}, { uid }), nodeOf('n', {}, node), []);
    expect(found === undefined ? undefined : `${found.reason} ${found.message}`).toBe(expected);
  });
});
