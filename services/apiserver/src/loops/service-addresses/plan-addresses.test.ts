import type { KubeObject, Service } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type AddressAction, planAddresses, type StoredAddress } from './plan-addresses.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const OLD = '2026-01-01T00:08:59Z';
const NEW = '2026-01-01T00:09:30Z';
const LABELS = {
  'ipaddress.kubernetes.io/ip-family': 'IPv4',
  'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
};

function service(name: string, clusterIP: string, creationTimestamp = NEW): Service & KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'n', creationTimestamp },
    spec: { clusterIP, clusterIPs: [clusterIP] },
  };
}

function address(name: string, parent: object, metadata: object = { labels: LABELS }): StoredAddress {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IPAddress',
    metadata: { name, ...metadata },
    spec: { parentRef: { group: '', resource: 'services', namespace: 'n', name: '', ...parent } },
  };
}

const GATEWAY = { group: 'example.org', resource: 'gateways', namespace: '', name: 'g' };
const RESERVED = address('10.96.0.9', GATEWAY, {});
const WRONG = 'the ClusterIP [IPv4]: 10.96.0.9 for Service n/a has a wrong reference; repairing';

function textOf(action: AddressAction): string {
  if (action.kind === 'warn') return `${action.warning.reason}: ${action.warning.message}`;
  const { metadata, spec } = action.object;
  return `${action.kind} ${metadata.name ?? ''} of ${spec?.parentRef?.resource ?? ''}/${spec?.parentRef?.name ?? ''}`;
}

const isInRange = (text: string) => text.startsWith('10.96.');

/** Kubernetes' cases (ipallocator/controller/repairip_test.go), except those about the duration of requests. */
const CASES: readonly (readonly [says: string, Service[], StoredAddress[], expected: string[]])[] = [
  [
    'makes one for each address',
    [service('a', '10.96.0.9'), service('b', 'None')],
    [],
    ['create 10.96.0.9 of services/a'],
  ],
  ['leaves what is right', [service('a', '10.96.0.9')], [address('10.96.0.9', { name: 'a' })], []],
  [
    'says of an older Service that its own was lost',
    [service('a', '10.96.0.9', OLD)],
    [],
    [
      'ClusterIPNotAllocated: Cluster IP [IPv4]: 10.96.0.9 is not allocated; repairing',
      'create 10.96.0.9 of services/a',
    ],
  ],
  ['removes one whose Service has gone', [], [address('10.96.0.9', { name: 'a' })], ['delete 10.96.0.9 of services/a']],
  ['leaves those of others', [], [RESERVED], []],
  [
    'removes one of its own that names no Service',
    [],
    [address('10.96.0.9', GATEWAY)],
    ['delete 10.96.0.9 of gateways/g'],
  ],
  [
    'replaces one that names another object',
    [service('a', '10.96.0.9')],
    [RESERVED],
    [`ClusterIPNotAllocated: ${WRONG}`, 'delete 10.96.0.9 of gateways/g', 'create 10.96.0.9 of services/a'],
  ],
  [
    'replaces one that names a Service without that address, and says only that',
    [service('a', '10.96.0.9', OLD), service('b', '10.96.0.8')],
    [address('10.96.0.9', { name: 'b' }), address('10.96.0.8', { name: 'b' })],
    [`ClusterIPNotAllocated: ${WRONG}`, 'delete 10.96.0.9 of services/b', 'create 10.96.0.9 of services/a'],
  ],
  [
    'replaces one without its labels, silently',
    [service('a', '10.96.0.9')],
    [address('10.96.0.9', { name: 'a' }, {})],
    ['delete 10.96.0.9 of services/a', 'create 10.96.0.9 of services/a'],
  ],
  [
    'leaves one that two Services hold to either of them',
    [service('a', '10.96.0.9'), service('b', '10.96.0.9')],
    [address('10.96.0.9', { name: 'b' })],
    [],
  ],
  [
    'waits for one that is leaving',
    [service('a', '10.96.0.9')],
    [address('10.96.0.9', GATEWAY, { deletionTimestamp: NEW, finalizers: ['x'] })],
    [],
  ],
  [
    'says of an address outside of all ranges',
    [service('a', '10.1.0.9')],
    [],
    [
      'ClusterIPOutOfRange: Cluster IP [IPv4]: 10.1.0.9 is not within any configured Service CIDR; please recreate service',
    ],
  ],
  [
    'makes none of an external name',
    [{ ...service('a', '10.96.0.9'), spec: { type: 'ExternalName', clusterIPs: ['10.96.0.9'] } }],
    [],
    [],
  ],
];

describe('the plan of addresses', () => {
  it.each(CASES)('%s', (_, services, stored, expected) => {
    const observed = { services, stored, isInRange };
    const actions = planAddresses(observed, NOW);
    expect(actions.map(textOf)).toEqual(expected);
    const deleted = new Set(actions.flatMap((one) => (one.kind === 'delete' ? [one.object] : [])));
    const created = actions.flatMap((one) => (one.kind === 'create' ? [one.object] : []));
    const after = [...stored.filter((one) => !deleted.has(one)), ...created];
    // An address outside the ranges stays until the owner of the Service changes it.
    const again = planAddresses({ services, stored: after, isInRange }, NOW);
    expect(again.filter(({ kind }) => kind !== 'warn')).toEqual([]);
  });

  it('names what it makes as Kubernetes does', () => {
    const actions = planAddresses({ services: [service('a', '10.96.0.9')], stored: [], isInRange }, NOW);
    expect(actions).toEqual([{ kind: 'create', object: address('10.96.0.9', { name: 'a' }) }]);
  });
});
