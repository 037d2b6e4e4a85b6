import type { Endpoint, EndpointSlice, Node } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareHints } from './share-hints.ts';
import { changesShares, type ZoneShares, zoneShares } from './zone-shares.ts';

const CONTROL_PLANE = { 'node-role.kubernetes.io/control-plane': '' };

interface NodeSketch {
  readonly zone?: string;
  readonly cpu?: string;
  readonly ready?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

function node({ zone, cpu = '4', ready = true, labels = {} }: NodeSketch): Node {
  const zoneLabel: Record<string, string> = zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', labels: { ...labels, ...zoneLabel } },
    status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

describe('the shares of zones', () => {
  it('are those of the CPU of ready nodes', () => {
    const nodes = [{ zone: 'b' }, { zone: 'a', cpu: '2' }, { zone: 'a', cpu: '6000m' }, { zone: 'c', ready: false }];
    expect([...(zoneShares(nodes.map(node)) ?? [])]).toEqual([
      ['a', 8 / 12],
      ['b', 4 / 12],
    ]);
  });

  it.each<[string, readonly NodeSketch[]]>([
    ['a node has no zone', [{ zone: 'a' }, { zone: 'b' }, {}]],
    ['a node has no CPU', [{ zone: 'a' }, { zone: 'b', cpu: '0' }]],
    ['nodes of one zone alone are ready', [{ zone: 'a' }, { zone: 'b', ready: false }]],
    ['nodes of the control plane do not count', [{ zone: 'a' }, { zone: 'b', labels: CONTROL_PLANE }]],
    ['there are no nodes', []],
  ])('are unknown where %s', (_what, nodes) => {
    expect(zoneShares(nodes.map(node))).toBeUndefined();
  });

  it.each<[NodeSketch, NodeSketch, boolean]>([
    [{ zone: 'a' }, { zone: 'a' }, false],
    [{ zone: 'a' }, { zone: 'b' }, true],
    [{ zone: 'a' }, { zone: 'a', ready: false }, true],
    [{ zone: 'a' }, { zone: 'a', cpu: '8' }, true],
    [{ zone: 'a' }, { zone: 'a', labels: { other: '' } }, false],
  ])('change with zone, readiness and CPU of a node: %j to %j', (before, after, changes) => {
    expect(changesShares(node(after), node(before))).toBe(changes);
  });
});

/** Endpoints, given by one letter for the zone of each. `-` means no zone, and a capital letter means not ready. */
function endpoints(zones: string, hints = ''): Endpoint[] {
  return [...zones].map((zone, index) => ({
    addresses: [`10.0.0.${index}`],
    conditions: { ready: zone === zone.toLowerCase() },
    ...(zone === '-' ? {} : { zone: zone.toLowerCase() }),
    ...(hints[index] === undefined || hints[index] === '-' ? {} : { hints: { forZones: [{ name: hints[index] }] } }),
  }));
}

function slice(zones: string, hints?: string): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${zones}-${hints ?? ''}` },
    addressType: 'IPv4',
    endpoints: endpoints(zones, hints),
  };
}

const hintsOf = ({ endpoints: all = [] }: EndpointSlice) =>
  all.map(({ hints }) => hints?.forZones?.map(({ name }) => name).join('') ?? '-').join('');
const HALVES: ZoneShares = new Map([
  ['a', 0.5],
  ['b', 0.5],
]);

describe('hints by the shares of zones', () => {
  it.each([
    ['stay in their zones where these have their shares', 'abab', 'abab'],
    ['go from the zone that has too many', 'aaab', 'baab'],
    ['are of ready endpoints alone', 'aAabBb', 'a-ab-b'],
    ['serve a zone without endpoints', 'aaaa', 'bbaa'],
    ['stay in a zone without ready nodes', 'aabbcc', 'aabbcc'],
  ])('%s: %s', (_what, zones, hints) => {
    const shared = shareHints(HALVES, { create: [slice(zones)], update: [], remove: [] }, []);
    expect('refused' in shared ? shared.refused : shared.create.map(hintsOf)).toEqual([hints]);
  });

  it.each([
    ['ab', undefined, 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes'],
    ['a', HALVES, 'Insufficient number of endpoints (1 endpoints, 2 zones)'],
    [
      'aba',
      HALVES,
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 2 zones)',
    ],
    ['ab-b', HALVES, 'One or more endpoints do not have a zone specified'],
  ])('are refused for %s', (zones, shares, refused) => {
    expect(shareHints(shares, { create: [slice(zones)], update: [], remove: [] }, [])).toEqual({ refused });
  });

  it('leave a slice as it is whose hints are possible, and correct one whose are not', () => {
    const kept = slice('ab', 'ab');
    const changes = { create: [], update: [slice('aa')], remove: [] };
    const first = shareHints(HALVES, changes, [kept]);
    expect('refused' in first ? first : first.update.map(hintsOf)).toEqual(['ba']);
    const wrong = shareHints(HALVES, { create: [], update: [], remove: [] }, [kept, slice('abab', 'abc-')]);
    expect('refused' in wrong ? wrong : wrong.update.map(hintsOf)).toEqual(['abab']);
  });

  it('are complete, and are not written again', () => {
    const zones = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 });
    const weights = fc.record({ a: fc.integer({ min: 1, max: 9 }), b: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(zones, zones, weights, (one, other, { a, b }) => {
        const shares = new Map([
          ['a', a / (a + b)],
          ['b', b / (a + b)],
        ]);
        const create = [slice(one.join('')), slice(other.join(''), 'x')];
        const shared = shareHints(shares, { create, update: [], remove: [] }, []);
        if ('refused' in shared) return;
        expect(shared.create.map(hintsOf).join('')).not.toContain('-');
        const again = shareHints(shares, { create: [], update: [], remove: [] }, shared.create);
        expect(again).toEqual({ create: [], update: [], remove: [] });
      }),
    );
  });
});
