import type { Endpoints, EndpointSlice, EndpointSubset } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sketchService } from '../../testing/service-fixtures.ts';
import {
  type Action,
  groupMirror,
  MANAGER,
  MAX_PORTS_OF_NAME,
  type ObservedMirror,
  planMirror,
  skippedAddresses,
} from './plan.ts';

const plan = (observed: ObservedMirror) => planMirror(observed, groupMirror(observed));
const skipped = (observed: ObservedMirror) => skippedAddresses(groupMirror(observed));

function endpointsOf(subsets: EndpointSubset[], metadata: Partial<Endpoints['metadata']> = {}): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'sv', namespace: 'n', uid: 'e', ...metadata },
    subsets,
  };
}

function observe(endpoints: Endpoints | undefined, slices: readonly EndpointSlice[] = []): ObservedMirror {
  return { endpoints, service: sketchService({ selector: {} }), slices };
}

function apply(slices: readonly EndpointSlice[], actions: readonly Action[]): readonly EndpointSlice[] {
  const byName = new Map(slices.map((slice) => [slice.metadata.name, slice]));
  let count = 0;
  for (const { kind, slice } of actions) {
    if (kind === 'delete') expect(byName.delete(slice.metadata.name)).toBe(true);
    else {
      let { name } = slice.metadata;
      while (name === undefined || (kind === 'create' && byName.has(name))) name = `sv-${++count}`;
      byName.set(name, { ...slice, metadata: { ...slice.metadata, name } });
    }
  }
  return [...byName.values()];
}

function settle(observed: ObservedMirror): readonly EndpointSlice[] {
  const slices = apply(observed.slices, plan(observed).actions);
  expect(plan({ ...observed, slices }).actions).toEqual([]);
  return slices;
}

const port = (number: number) => ({ name: 'p', port: number, protocol: 'TCP' });
const addressesIn = (slices: readonly EndpointSlice[]) =>
  slices.flatMap(({ endpoints = [] }) => endpoints.flatMap(({ addresses }) => addresses)).sort();
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` }));

describe('mirrored Endpoints', () => {
  it('have their addresses, conditions, labels and annotations', () => {
    const targetRef = { kind: 'Pod', name: 'x' };
    const subsets = [
      {
        addresses: [{ ip: '192.0.2.7', hostname: 'h', nodeName: 'node', targetRef }],
        notReadyAddresses: [{ ip: '192.0.2.8' }],
        ports: [port(80)],
      },
    ];
    const annotations = {
      a: '1',
      'endpoints.kubernetes.io/last-change-trigger-time': 't',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    };
    const { actions } = plan(observe(endpointsOf(subsets, { labels: { l: '1' }, annotations })));
    expect(actions).toEqual([
      {
        kind: 'create',
        slice: {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            generateName: 'sv-',
            namespace: 'n',
            labels: { l: '1', 'kubernetes.io/service-name': 'sv', 'endpointslice.kubernetes.io/managed-by': MANAGER },
            annotations: { a: '1' },
            ownerReferences: [
              { apiVersion: 'v1', kind: 'Endpoints', name: 'sv', uid: 'e', controller: true, blockOwnerDeletion: true },
            ],
          },
          addressType: 'IPv4',
          ports: [port(80)],
          endpoints: [
            { addresses: ['192.0.2.7'], conditions: { ready: true }, hostname: 'h', nodeName: 'node', targetRef },
            { addresses: ['192.0.2.8'], conditions: { ready: false } },
          ],
        },
      },
    ]);
  });

  it('need a slice for each set of ports and family', () => {
    const subsets = [
      { addresses: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }], ports: [port(80)] },
      { addresses: [{ ip: '192.0.2.2' }], ports: [port(81)] },
    ];
    const slices = settle(observe(endpointsOf(subsets)));
    expect(
      slices.map(({ addressType, ports, endpoints = [] }) => [addressType, ports?.[0]?.port, endpoints.length]),
    ).toEqual([
      ['IPv4', 80, 1],
      ['IPv6', 80, 1],
      ['IPv4', 81, 1],
    ]);
    expect(addressesIn(slices)).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
  });

  it('have each name of a port once in a slice, though subsets with the same addresses give it two numbers', () => {
    const addresses = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }];
    const admin = { ...port(9090), name: 'admin' };
    const subsets = [
      { addresses, ports: [port(8081)] },
      { addresses: addresses.toReversed(), ports: [port(8080), admin] },
    ];
    const slices = settle(observe(endpointsOf(subsets)));
    const numbers = slices.map(({ ports = [] }) => ports.map(({ name, port: number }) => `${name}:${number}`));
    expect(numbers.flat().sort()).toEqual(['admin:9090', 'p:8080', 'p:8081']);
    for (const { ports = [] } of slices) expect(new Set(ports.map(({ name }) => name)).size).toBe(ports.length);
    expect(addressesIn(slices)).toEqual(['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2']);
    const observed = observe(endpointsOf(subsets.slice(1)), slices);
    expect(addressesIn(settle(observed))).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  it.each<[string, Partial<ObservedMirror>]>([
    ['they are gone', { endpoints: undefined }],
    ['they say so', { endpoints: endpointsOf([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }) }],
    [
      'they are of an election',
      { endpoints: endpointsOf([], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }) },
    ],
    ['the Service is gone', { service: undefined }],
    ['the Service selects pods', { service: sketchService() }],
    ['they have no addresses', { endpoints: endpointsOf([]) }],
  ])('have no slices when %s', (_, change) => {
    const observed = observe(endpointsOf([{ addresses: many(1), ports: [port(80)] }]));
    const slices = settle(observed);
    expect(settle({ ...observed, slices, ...change })).toEqual([]);
  });

  it('are changed in the slice that is there, also when their ports change', () => {
    const slices = settle(observe(endpointsOf([{ addresses: many(1), ports: [port(80)] }])));
    const more = plan(observe(endpointsOf([{ addresses: many(2), ports: [port(80)] }]), slices)).actions;
    expect(more).toMatchObject([{ kind: 'update', slice: { metadata: { name: 'sv-1' } } }]);
    const moved = plan(observe(endpointsOf([{ addresses: many(1), ports: [port(81)] }]), slices)).actions;
    expect(moved).toMatchObject([{ kind: 'update', slice: { metadata: { name: 'sv-1' }, ports: [port(81)] } }]);
  });

  it('of a later object of the name own the slice', () => {
    const subsets = [{ addresses: many(1), ports: [port(80)] }];
    const slices = settle(observe(endpointsOf(subsets)));
    const [slice] = settle(observe(endpointsOf(subsets, { uid: 'later' }), slices));
    expect(slice?.metadata.ownerReferences).toMatchObject([{ uid: 'later' }]);
  });

  it('are cut at 1,000 addresses, ready ones first, which is reported', () => {
    const all = many(1200);
    const subset = { addresses: all.slice(200), notReadyAddresses: all.slice(0, 200), ports: [port(80)] };
    const observed = observe(endpointsOf([subset]));
    const [slice] = settle(observed);
    expect(slice?.endpoints).toHaveLength(1000);
    expect(slice?.endpoints?.every(({ conditions }) => conditions?.ready === true)).toBe(true);
    expect(skipped(observed).reports).toEqual([
      {
        reason: 'TooManyAddressesToMirror',
        message:
          'A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 200 addresses were skipped',
      },
    ]);
  });

  it('are mirrored for 16 ports of a name, and report the rest', () => {
    const ports = Array.from({ length: 2_000 }, (_, i) => port(i + 1));
    const admin = { ...port(9090), name: 'admin' };
    const addresses = [...many(999), { ip: 'fd00::1' }];
    const observed = observe(endpointsOf([{ addresses, ports: [...ports, admin] }]));
    const slices = settle(observed);
    const v4 = slices.filter(({ addressType }) => addressType === 'IPv4');
    expect([slices.length, v4.length]).toEqual([2 * MAX_PORTS_OF_NAME, MAX_PORTS_OF_NAME]);
    expect(slices.flatMap((slice) => slice.ports ?? []).filter(({ name }) => name === 'admin')).toHaveLength(2);
    for (const { endpoints = [] } of v4) expect(endpoints).toHaveLength(999);
    expect(skipped(observed)).toEqual({
      addresses: 0,
      reports: [
        {
          reason: 'TooManyPortsToMirror',
          message:
            'A max of 16 ports of a name can be mirrored to EndpointSlices per Endpoints subset. 1984 ports were skipped',
        },
      ],
    });
    expect(skipped(observe(endpointsOf([{ addresses, ports: ports.slice(0, 16) }]))).reports).toEqual([]);
  });

  it('are read once, for the plan and for what it leaves out', () => {
    let reads = 0;
    const addresses = many(3).map(({ ip }) => ({
      get ip() {
        reads++;
        return ip;
      },
    }));
    const observed = observe(endpointsOf([{ addresses, ports: [port(80)] }]));
    const grouped = groupMirror(observed);
    const before = reads;
    expect(before).toBeGreaterThan(0);
    expect(planMirror(observed, grouped).actions).toHaveLength(1);
    expect(skippedAddresses(grouped)).toEqual({ addresses: 0, reports: [] });
    expect(reads).toBe(before);
  });

  it('report addresses that are none', () => {
    const observed = observe(endpointsOf([{ addresses: [{ ip: 'host' }, { ip: '10.0.0.1' }], ports: [port(80)] }]));
    expect(addressesIn(settle(observed))).toEqual(['10.0.0.1']);
    expect(skipped(observed).reports.map(({ message }) => message)).toEqual([
      'Skipped 1 invalid IP addresses when mirroring to EndpointSlices',
    ]);
  });

  it('are mirrored after any changes', () => {
    const address = fc.record({ ip: fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1') });
    const subset = fc.record({
      addresses: fc.array(address, { maxLength: 3 }),
      notReadyAddresses: fc.array(address, { maxLength: 2 }),
      ports: fc.uniqueArray(fc.constantFrom(port(80), port(82), { ...port(81), name: 'q' }), {
        maxLength: 2,
        selector: ({ name }) => name,
      }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(subset, { maxLength: 3 }), { minLength: 1, maxLength: 4 }), (history) => {
        let slices: readonly EndpointSlice[] = [];
        for (const subsets of history) slices = settle(observe(endpointsOf(subsets), slices));
        const last = history.at(-1) ?? [];
        const ips = last.flatMap(({ addresses, notReadyAddresses }) => [...addresses, ...notReadyAddresses]);
        expect(new Set(addressesIn(slices))).toEqual(new Set(ips.map(({ ip }) => ip)));
        for (const { ports = [] } of slices) expect(new Set(ports.map(({ name }) => name)).size).toBe(ports.length);
      }),
      { seed: 11, numRuns: 200 },
    );
  });
});
