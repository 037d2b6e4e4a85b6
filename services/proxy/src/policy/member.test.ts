import type { Container, Pod } from '@gantry/objects';
import { expect, test } from 'vitest';
import { pod } from '../testing/policies.ts';
import { MAX_NAMED_PORTS, memberOfPod } from './member.ts';

const web = pod('web', '10.128.4.1');

function ports(containers: Container[], initContainers: Container[] = []): readonly string[] {
  const found = memberOfPod({ ...web, spec: { containers, initContainers } })?.ports ?? [];
  return found.map(({ protocol, name, number }) => `${protocol} ${name} ${number}`);
}

test('a pod is known by its namespace, labels, address and Node, which its agent cannot choose', () => {
  expect(memberOfPod(web)).toEqual({
    key: 'pod/default/web',
    namespace: 'default',
    labels: { app: 'web' },
    address: '10.128.4.1',
    node: 'node-a',
    ports: [{ protocol: 'tcp', name: 'web', number: 8080 }],
  });
});

test.each<readonly [string, Partial<Pod>]>([
  ['none yet', { status: { phase: 'Pending' } }],
  ['one that is none', { status: { podIP: '10.128.4.1 }', phase: 'Running' } }],
  ['one of IPv6', { status: { podIP: 'fd00::1', phase: 'Running' } }],
  ['given to others, since it has succeeded', { status: { podIP: '10.128.4.1', phase: 'Succeeded' } }],
  ["its Node's", { spec: { hostNetwork: true, containers: [] } }],
])('a pod without an address of its own is not known: %s', (_, change) => {
  expect(memberOfPod({ ...web, ...change })).toBeUndefined();
});

test.each(['initContainerStatuses', 'ephemeralContainerStatuses'])(
  'a pod that has ended is known as long as one of its %s runs',
  (list) => {
    const running = { name: 's', image: 'i', imageID: '', ready: false, restartCount: 0, state: { running: {} } };
    const status = { podIP: '10.128.4.1', phase: 'Failed', [list]: [running] };
    expect(memberOfPod({ ...web, status })?.address).toBe('10.128.4.1');
  },
);

test('named ports are those of containers and sidecars; the first one of a name and protocol counts', () => {
  const main = {
    name: 'main',
    ports: [
      { name: 'dns', containerPort: 53, protocol: 'UDP' },
      { name: 'dns', containerPort: 54 },
      { containerPort: 99 },
    ],
  };
  const other = { name: 'other', ports: [{ name: 'dns', containerPort: 55, protocol: 'UDP' }] };
  const sidecar = { name: 's', restartPolicy: 'Always', ports: [{ name: 'metrics', containerPort: 9 }] };
  const init = { name: 'i', ports: [{ name: 'gone', containerPort: 10 }] };
  expect(ports([main, other], [sidecar, init])).toEqual(['udp dns 53', 'tcp dns 54', 'tcp metrics 9']);
});

test('a pod with more named ports than there is room for has the first ones', () => {
  const many = Array.from({ length: 5000 }, (_, i) => ({ name: `p-${i}`, containerPort: i + 1 }));
  expect(ports([{ name: 'main', ports: many }])).toHaveLength(MAX_NAMED_PORTS);
});
