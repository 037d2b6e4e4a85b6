import type { Node, Pod, PodSpec, ContainerPort } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { container, nodeOf, pod } from '../testing/pods.ts';
import { mismatchOf, shortagesOf, hostPortRejection, unforwardedPort } from './node-fit.ts';
import { shortageRejection } from './shortage.ts';

const ADDRESSES = { nodeAddress: '10.128.12.4', podCidr: '10.128.0.0/20' };
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

interface Side {
  readonly port?: Partial<ContainerPort>;
  readonly spec?: Partial<PodSpec>;
}

function podOf({ port = {}, spec }: Side): Pod {
  const ports = [{ containerPort: 80, hostPort: 8080, ...port }];
  return pod({ containers: [container('main', { ports })], ...spec });
}

const init = (restartPolicy: string | undefined) => ({
  containers: [container()],
  initContainers: [
    container('init', {
      ports: [{ containerPort: 80, hostPort: 8080 }],
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
    }),
  ],
});

it.each<{ readonly name: string; readonly other: Side; readonly own?: Side; readonly rejected: boolean }>([
  { name: 'the same port', other: {}, rejected: true },
  { name: 'another port', other: { port: { hostPort: 8081 } }, rejected: false },
  { name: 'no host port', other: { port: { hostPort: 0 } }, rejected: false },
  { name: 'another protocol', other: { port: { protocol: 'UDP' } }, rejected: false },
  { name: 'TCP by name', other: { port: { protocol: 'TCP' } }, rejected: true },
  {
    name: 'different addresses',
    other: { port: { hostIP: '10.0.0.1' } },
    own: { port: { hostIP: '10.0.0.2' } },
    rejected: false,
  },
  {
    name: 'the same address',
    other: { port: { hostIP: '10.0.0.1' } },
    own: { port: { hostIP: '10.0.0.1' } },
    rejected: true,
  },
  {
    name: 'all addresses and one',
    other: { port: { hostIP: '0.0.0.0' } },
    own: { port: { hostIP: '10.0.0.2' } },
    rejected: true,
  },
  { name: 'one address and all', other: { port: { hostIP: '10.0.0.1' } }, rejected: true },
  { name: 'a sidecar', other: { spec: init('Always') }, rejected: true },
  { name: 'an init container, which ends', other: { spec: init(undefined) }, rejected: false },
])('$name: rejected $rejected', ({ other, own = {}, rejected }) => {
  const result = hostPortRejection(podOf(own), [podOf(other)]);
  expect(result !== undefined).toBe(rejected);
});

it("the reason and the message are the kubelet's", () => {
  expect(hostPortRejection(podOf({}), [podOf({})])).toEqual({
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
});

it.each<readonly [string, string | undefined, string | undefined]>([
  ['all addresses', undefined, undefined],
  ['all addresses of IPv4', '0.0.0.0', undefined],
  ["the node's own", '10.128.12.4', undefined],
  ['the loopback', '127.0.0.1', undefined],
  ['another one of the host', '192.0.2.7', undefined],
  ["another node's", '10.128.12.7', 'it is an address of another node'],
  ["a load balancer's", '10.128.10.7', 'it is an address of load balancers'],
  ['IPv6', '::1', 'only ports of IPv4 addresses are forwarded'],
])('host ports of %s', (_, hostIP, why) => {
  const ports = [{ containerPort: 80, hostPort: 8080, ...(hostIP === undefined ? {} : { hostIP }) }];
  const spec = { containers: [container('main'), container('web', { ports })] };
  const message = `this node cannot forward host port 8080 of container web at hostIP ${hostIP}: ${why}`;
  expect(unforwardedPort(pod(spec), ADDRESSES)).toEqual(
    why === undefined ? undefined : { reason: 'HostPortNotSupported', message },
  );
  expect(unforwardedPort(pod({ ...spec, hostNetwork: true }), ADDRESSES)).toBeUndefined();
});

it('an address without a host port asks for nothing; a sidecar may ask for one', () => {
  const ports = [{ containerPort: 80, hostIP: '::1' }];
  expect(unforwardedPort(pod({ containers: [container('main', { ports })] }), ADDRESSES)).toBeUndefined();
  const sidecar = container('side', {
    restartPolicy: 'Always',
    ports: [{ containerPort: 80, hostPort: 80, hostIP: '::1' }],
  });
  expect(unforwardedPort(pod({ containers: [container('main')], initContainers: [sidecar] }), ADDRESSES)?.reason).toBe(
    'HostPortNotSupported',
  );
});
