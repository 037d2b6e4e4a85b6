import { readFileSync } from 'node:fs';
import type { EndpointAddress, Endpoints, EndpointSlice, EndpointSubset } from '@gantry/objects';
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

/** A name and a number, separated by a colon, over TCP. */
type PortSketch = string;

interface Round {
  /** When it is absent, there are no Endpoints. */
  readonly endpoints?: {
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly subsets: readonly {
      readonly addresses: readonly (string | EndpointAddress)[];
      readonly notReadyAddresses?: readonly string[];
      readonly ports: readonly PortSketch[];
    }[];
  };
  /** When it is absent, the Service has no selector. */
  readonly service?: 'gone' | 'selects pods';
  /** Each slice from the previous round exists twice. */
  readonly doubled?: boolean;
  readonly actions: readonly string[];
  /** The family, ports and addresses of each slice. `!` follows an address that is not ready. */
  readonly slices: readonly string[];
  /** The number of addresses that are left out. */
  readonly skipped?: number;
  readonly reports?: readonly string[];
}

interface Case {
  readonly name: string;
  /** Each round starts with the slices of the previous one. */
  readonly rounds: readonly Round[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
/** Annotations that are not copied to slices. */
const OWN_ANNOTATIONS = new Set([
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
]);

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

const addressOf = (sketch: string | EndpointAddress) => (typeof sketch === 'string' ? { ip: sketch } : sketch);

function portOf(sketch: PortSketch): { name: string; port: number; protocol: string } {
  const [name = '', number] = sketch.split(':');
  return { ...port(Number(number)), name };
}

function sketchedEndpoints({ endpoints }: Round): Endpoints | undefined {
  if (endpoints === undefined) return undefined;
  const { subsets, ...metadata } = endpoints;
  return endpointsOf(
    subsets.map(({ addresses, notReadyAddresses, ports }) => ({
      addresses: addresses.map(addressOf),
      ...(notReadyAddresses === undefined ? {} : { notReadyAddresses: notReadyAddresses.map(addressOf) }),
      ports: ports.map(portOf),
    })),
    metadata,
  );
}

function observeRound(round: Round, before: readonly EndpointSlice[]): ObservedMirror {
  const slices = round.doubled === true ? before.flatMap((slice) => [slice, again(slice)]) : before;
  const observed = observe(sketchedEndpoints(round), slices);
  if (round.service === undefined) return observed;
  return { ...observed, service: round.service === 'gone' ? undefined : sketchService() };
}

const again = (slice: EndpointSlice): EndpointSlice => ({
  ...slice,
  metadata: { ...slice.metadata, name: `${slice.metadata.name}-again` },
});

function sketchSlice({ addressType, ports = [], endpoints = [] }: EndpointSlice): string {
  const addresses = endpoints.map(({ addresses: [ip], conditions }) => `${ip}${conditions?.ready === true ? '' : '!'}`);
  return `${addressType} ${ports.map(({ name, port: number }) => `${name}:${number}`).join(' ')}: ${addresses.join(' ')}`;
}

/** Expects that a slice has the labels and annotations of the Endpoints and refers to them as its owner. */
function expectMetadata({ metadata }: EndpointSlice, endpoints: Endpoints | undefined): void {
  const { labels, annotations = {}, uid } = endpoints?.metadata ?? {};
  expect(metadata.labels).toEqual({
    ...labels,
    'kubernetes.io/service-name': 'sv',
    'endpointslice.kubernetes.io/managed-by': MANAGER,
  });
  const passedOn = Object.entries(annotations).filter(([name]) => !OWN_ANNOTATIONS.has(name));
  expect(metadata.annotations).toEqual(Object.fromEntries(passedOn));
  expect(metadata.ownerReferences).toMatchObject([{ kind: 'Endpoints', uid, controller: true }]);
}

describe('mirrored Endpoints', () => {
  it.each(CASES)('$name', ({ rounds }) => {
    let slices: readonly EndpointSlice[] = [];
    for (const round of rounds) {
      const observed = observeRound(round, slices);
      const names = new Set(observed.slices.map(({ metadata }) => metadata.name));
      const { actions } = plan(observed);
      slices = settle(observed);
      const created = slices.filter(({ metadata }) => !names.has(metadata.name)).map(({ metadata }) => metadata.name);
      expect(
        actions.map(({ kind, slice }) => `${kind} ${kind === 'create' ? created.shift() : slice.metadata.name}`),
      ).toEqual(round.actions);
      expect(slices.map(sketchSlice)).toEqual(round.slices);
      for (const slice of slices) expectMetadata(slice, observed.endpoints);
      const { addresses, reports } = skipped(observed);
      expect(addresses).toBe(round.skipped ?? 0);
      expect(reports.map(({ reason, message }) => `${reason}: ${message}`)).toEqual(round.reports ?? []);
    }
  });

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
