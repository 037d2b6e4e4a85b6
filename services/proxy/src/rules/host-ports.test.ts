import type { ContainerPort, Pod } from '@gantry/objects';
import { expect, test } from 'vitest';
import { topology } from '../testing/services.ts';
import { hostPortOwner, hostPortTargets, planHostPorts } from './host-ports.ts';

const NODE = { name: 'node-a', address: '10.128.12.3', zone: '' };

function pod(ports: readonly ContainerPort[], change: Partial<NonNullable<Pod['spec']>> = {}, phase = 'Running'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name: 'p', creationTimestamp: '2026-01-02T03:04:05Z' },
    spec: { nodeName: 'node-a', containers: [{ name: 'main', ports: [...ports] }], ...change },
    status: { podIP: '10.128.4.9', phase },
  };
}

const WEB: ContainerPort = { containerPort: 80, hostPort: 8080 };
const TO_WEB = '10.128.4.9 . 80';
const ON_ALL = [
  `host-ports 10.128.12.3 . tcp . 8080 : ${TO_WEB}`,
  `any-host-ports tcp . 8080 : ${TO_WEB}`,
  'own-addresses 10.128.4.9 . 10.128.4.9',
];

const at = (hostIP: string): ContainerPort => ({ ...WEB, hostIP });
const onlyAt = (address: string) => [`host-ports ${address} . tcp . 8080 : ${TO_WEB}`, ON_ALL[2]];

test.each<readonly [string, Pod, readonly (string | undefined)[]]>([
  ["without hostIP they are at the Node's address and at all of the host's", pod([WEB]), ON_ALL],
  ['0.0.0.0 is as no hostIP', pod([at('0.0.0.0')]), ON_ALL],
  ['an empty hostIP, too', pod([at('')]), ON_ALL],
  ["the Node's address alone", pod([at('10.128.12.3')]), onlyAt('10.128.12.3')],
  ['loopback alone', pod([at('127.0.0.1')]), onlyAt('127.0.0.1')],
  ['an address of the host alone', pod([at('192.0.2.2')]), onlyAt('192.0.2.2')],
  ["not another Node's address", pod([at('10.128.12.4')]), []],
  ["not a load balancer's address", pod([at('10.128.10.1')]), []],
  ['not an address of IPv6', pod([at('::1')]), []],
  [
    'each with its protocol',
    pod([
      { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '10.128.12.3' },
      { containerPort: 7, hostPort: 7, protocol: 'SCTP', hostIP: '10.128.12.3' },
    ]),
    [
      'host-ports 10.128.12.3 . udp . 53 : 10.128.4.9 . 53',
      'host-ports 10.128.12.3 . sctp . 7 : 10.128.4.9 . 7',
      ON_ALL[2],
    ],
  ],
  ['a port without one has none', pod([{ containerPort: 80 }]), []],
  [
    'those of a sidecar, not those of an init container that ends',
    pod([], {
      initContainers: [
        { name: 'first', ports: [{ containerPort: 1, hostPort: 1 }] },
        { name: 'sidecar', restartPolicy: 'Always', ports: [at('10.128.12.3')] },
      ],
    }),
    onlyAt('10.128.12.3'),
  ],
  ["a pod of the host's network has them there already", pod([WEB], { hostNetwork: true }), []],
  ['a pod that has ended has none', pod([WEB], {}, 'Succeeded'), []],
  ['a pod that has failed has none', pod([WEB], {}, 'Failed'), []],
  ['a pod without an address has none yet', { ...pod([WEB]), status: { phase: 'Pending' } }, []],
  ["a pod that claims another's address has none", { ...pod([WEB]), status: { podIP: '192.0.2.1' } }, []],
])('host ports of a pod: %s', (_, object, expected) => {
  const { elements } = planHostPorts(object, NODE, topology());
  const text = elements.map(({ container, key, value }) => `${container} ${key}${value === '' ? '' : ` : ${value}`}`);
  expect(text).toEqual(expected);
});

test('UDP host ports are reported with the pod that answers', () => {
  const udp = pod([{ containerPort: 53, hostPort: 53, protocol: 'UDP' }, WEB]);
  const answers = new Set(['10.128.4.9']);
  expect([...hostPortTargets(udp, NODE, topology())]).toEqual([
    ['udp 10.128.12.3:53', answers],
    ['udp :53', answers],
  ]);
});

test('of two pods the older one sorts first', () => {
  const older = pod([WEB]);
  const newer = { ...older, metadata: { ...older.metadata, name: 'a', creationTimestamp: '2026-01-02T03:04:06Z' } };
  expect([hostPortOwner(newer), hostPortOwner(older)].toSorted()).toEqual([hostPortOwner(older), hostPortOwner(newer)]);
});
