import { readFileSync } from 'node:fs';
import type { Endpoint, EndpointSlice, Node, ServiceSpec } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointsOf } from '../../libraries/service-endpoints/packing.ts';
import { type PodSketch, sketchNode, sketchPod, sketchService } from '../../testing/service-fixtures.ts';
import { type Action, MANAGER, type ObservedSlices, planSlices, podsWithoutNode } from './plan.ts';

interface Case {
  readonly title: string;
  readonly spec?: ServiceSpec;
  readonly pods: readonly PodSketch[];
  /** Each slice's endpoints: the address and its true conditions. */
  readonly slices: readonly (readonly string[])[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NODES = [sketchNode('node', 'east'), sketchNode('other', 'west'), sketchNode('bare')];
const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

function observe(
  spec: ServiceSpec | undefined,
  pods: readonly PodSketch[],
  slices: readonly EndpointSlice[] = [],
  nodes: readonly Node[] = NODES,
): ObservedSlices {
  return {
    service: sketchService(spec, { labels: { s: '1' } }),
    pods: pods.map(sketchPod),
    nodes: new Map(nodes.map((node) => [node.metadata.name ?? '', node])),
    slices,
    triggerTime: '2030-01-01T00:00:10Z',
  };
}

/** A slice as the API returns it. Without endpoints, the field is null. */
function stored(slice: EndpointSlice): EndpointSlice {
  return (slice.endpoints ?? []).length === 0 ? ({ ...slice, endpoints: null } as unknown as EndpointSlice) : slice;
}

/** The slices after the actions. New ones get a number as their name. */
function apply(slices: readonly EndpointSlice[], actions: readonly Action[]): readonly EndpointSlice[] {
  const byName = new Map(slices.map((slice) => [slice.metadata.name, slice]));
  let count = 0;
  for (const { kind, slice } of actions) {
    if (kind === 'delete') {
      expect(byName.delete(slice.metadata.name)).toBe(true);
      continue;
    }
    if (kind === 'update') expect(byName.has(slice.metadata.name)).toBe(true);
    let { name } = slice.metadata;
    while (name === undefined || (kind === 'create' && byName.has(name))) name = `sv-${++count}`;
    byName.set(name, { ...slice, metadata: { ...slice.metadata, name } });
  }
  return [...byName.values()].map(stored);
}

function settle(observed: ObservedSlices): readonly EndpointSlice[] {
  const { actions } = planSlices(observed);
  const slices = apply(observed.slices, actions);
  expect(planSlices({ ...observed, slices }).actions).toEqual([]);
  return slices;
}

const sketch = ({ addresses, conditions = {} }: Endpoint) =>
  [...addresses, ...Object.entries(conditions).flatMap(([name, is]) => (is ? [name] : []))].join(' ');
const contentOf = (slices: readonly EndpointSlice[]) => slices.map((slice) => endpointsOf(slice).map(sketch));

const many = (count: number, from = 0): PodSketch[] =>
  Array.from({ length: count }, (_, i) => {
    const id = from + i;
    return { name: `p${id}`, ip: `10.0.${id >> 8}.${id & 255}` };
  });
const sizes = (slices: readonly EndpointSlice[]) => slices.map((slice) => endpointsOf(slice).length);

describe('the slices of a Service', () => {
  it.each(CASES)('$title', ({ spec, pods, slices }) => {
    expect(contentOf(settle(observe(spec, pods)))).toEqual(slices);
  });

  it('name their Service, their manager, and the pod, node and zone of each endpoint', () => {
    const pods = [{ name: 'a', ip: '10.0.0.1', hostname: 'h', subdomain: 'sv' }];
    const [action] = planSlices(observe({ clusterIP: 'None' }, pods)).actions;
    expect(action).toEqual({
      kind: 'create',
      slice: {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          generateName: 'sv-',
          namespace: 'n',
          labels: {
            s: '1',
            'service.kubernetes.io/headless': '',
            'kubernetes.io/service-name': 'sv',
            'endpointslice.kubernetes.io/managed-by': MANAGER,
          },
          annotations: { [TRIGGER_TIME]: '2030-01-01T00:00:10Z' },
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'Service',
              name: 'sv',
              uid: 'uid-sv',
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
        addressType: 'IPv4',
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        endpoints: [
          {
            addresses: ['10.0.0.1'],
            conditions: { ready: true, serving: true, terminating: false },
            hostname: 'h',
            nodeName: 'node',
            zone: 'east',
            targetRef: { kind: 'Pod', namespace: 'n', name: 'a', uid: 'uid-a' },
          },
        ],
      },
    });
  });

  it('hold 100 endpoints at most', () => {
    expect(sizes(settle(observe({}, many(250))))).toEqual([100, 100, 50]);
  });

  it('keep endpoints where they are, and fill the slice that changes anyway', () => {
    const slices = settle(observe({}, many(150)));
    const next = [...many(150).slice(1), ...many(3, 500)];
    const { actions } = planSlices(observe({}, next, slices));
    // One slice is full again. The other one gets the two remaining endpoints.
    expect(actions.map(({ kind }) => kind)).toEqual(['update', 'update']);
    expect(sizes(apply(slices, actions))).toEqual([100, 52]);
  });

  it('put what is left into the slice that it fills best, else into a new one', () => {
    const slices = settle(observe({}, many(150)));
    const more = planSlices(observe({}, many(190), slices)).actions;
    expect(more.map(({ kind }) => kind)).toEqual(['update']);
    const tooMany = planSlices(observe({}, many(210), slices)).actions;
    expect(tooMany.map(({ kind, slice }) => [kind, slice.endpoints?.length])).toEqual([['create', 60]]);
  });

  it('are used again when their ports go, with fewer writes', () => {
    const slices = settle(observe({}, many(1)));
    const ports = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 9090 }];
    const { actions } = planSlices(observe({ ports }, many(1), slices));
    expect(actions).toMatchObject([{ kind: 'update', slice: { metadata: { name: 'sv-1' }, ports: [{ port: 9090 }] } }]);
    expect(contentOf(settle(observe({}, [], slices)))).toEqual([[]]);
  });

  it('that an earlier Service of the name left are replaced', () => {
    const old = settle(observe({}, many(1)));
    const observed = observe({}, many(1), old);
    const service = { ...observed.service, metadata: { ...observed.service.metadata, uid: 'new' } };
    expect(planSlices({ ...observed, service }).actions.map(({ kind }) => kind)).toEqual(['create', 'delete']);
  });

  it('of a family that the Service has no longer are deleted', () => {
    const both = settle(observe({ ipFamilies: ['IPv4', 'IPv6'] }, [{ name: 'a', ip: ['10.0.0.1', 'fd00::1'] }]));
    expect(contentOf(settle(observe({}, [{ name: 'a', ip: ['10.0.0.1', 'fd00::1'] }], both)))).toEqual([
      ['10.0.0.1 ready serving'],
    ]);
  });

  it('follow the labels of the Service, but those of their own', () => {
    const observed = observe({}, many(1));
    const slices = settle(observed);
    const labels = { s: '2', 'kubernetes.io/service-name': 'x', 'service.kubernetes.io/headless': '' };
    const service = sketchService({}, { labels });
    const { actions } = planSlices({ ...observed, service, slices });
    expect(actions.map(({ kind, slice }) => [kind, slice.metadata.labels])).toEqual([
      ['update', { s: '2', 'kubernetes.io/service-name': 'sv', 'endpointslice.kubernetes.io/managed-by': MANAGER }],
    ]);
  });

  it('lose the trigger time when a change has none', () => {
    const slices = settle(observe({}, many(1)));
    const [action] = planSlices({ ...observe({}, many(2), slices), triggerTime: undefined }).actions;
    expect(action?.slice.metadata.annotations).toEqual({});
  });

  it('are not made for a Service that is being deleted', () => {
    const observed = observe({}, many(1));
    const metadata = { ...observed.service.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    expect(planSlices({ ...observed, service: { ...observed.service, metadata } }).actions).toEqual([]);
  });

  it('report the pods that are left out', () => {
    const pods = [
      { name: 'a', ip: '10.0.0.1', node: 'gone' },
      { name: 'b', node: 'gone' },
    ];
    expect(podsWithoutNode(observe({}, pods)).map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(podsWithoutNode(observe({ publishNotReadyAddresses: true }, pods))).toEqual([]);
  });

  it('have each endpoint once after any changes of pods and ports, and never more than 100', () => {
    const state = fc.record({
      from: fc.nat(150),
      count: fc.nat(260),
      target: fc.constantFrom(8080, 9090),
      ready: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(state, { minLength: 1, maxLength: 5 }), (history) => {
        let slices: readonly EndpointSlice[] = [];
        for (const { from, count, target, ready } of history) {
          const ports = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: target }];
          const pods = many(count, from).map((pod) => ({ ...pod, ready }));
          slices = settle(observe({ ports }, pods, slices));
          const addresses = slices.flatMap((slice) => endpointsOf(slice).map(sketch));
          expect(addresses.sort()).toEqual(pods.map(({ ip }) => (ready ? `${ip} ready serving` : ip)).sort());
          expect(Math.max(...sizes(slices))).toBeLessThanOrEqual(100);
          expect(slices.every((slice) => count === 0 || slice.ports?.[0]?.port === target)).toBe(true);
          expect(slices.length).toBeGreaterThan(0);
        }
      }),
      { seed: 11, numRuns: 60 },
    );
  });
});

describe('hints', () => {
  const pods: PodSketch[] = [
    { name: 'a', ip: '10.0.0.1', node: 'node' },
    { name: 'b', ip: '10.0.0.2', node: 'other' },
    { name: 'c', ip: '10.0.0.3', node: 'bare' },
    { name: 'd', ip: '10.0.0.4', node: 'node', ready: false },
  ];
  const hintsOf = (slices: readonly EndpointSlice[]) =>
    slices.flatMap((slice) =>
      endpointsOf(slice).map(({ hints }) =>
        [...(hints?.forZones ?? []), ...(hints?.forNodes ?? [])].map(({ name }) => name),
      ),
    );

  it.each([
    ['PreferClose', [['east'], ['west'], [], []]],
    ['PreferSameZone', [['east'], ['west'], [], []]],
    ['PreferSameNode', [['east', 'node'], ['west', 'other'], ['bare'], []]],
    [undefined, [[], [], [], []]],
  ])('of %s are for ready endpoints', (trafficDistribution, hints) => {
    const spec = trafficDistribution === undefined ? {} : { trafficDistribution };
    expect(hintsOf(settle(observe(spec, pods)))).toEqual(hints);
  });

  it('come and go with the field', () => {
    const without = settle(observe({}, pods));
    const near = settle(observe({ trafficDistribution: 'PreferSameNode' }, pods, without));
    expect(hintsOf(near)[0]).toEqual(['east', 'node']);
    expect(hintsOf(settle(observe({ trafficDistribution: 'PreferClose' }, pods, near)))[0]).toEqual(['east']);
    expect(hintsOf(settle(observe({}, pods, near))).flat()).toEqual([]);
  });

  it('are not those of the field where the annotation asks for others', () => {
    const observed = observe({ trafficDistribution: 'PreferClose' }, pods);
    const metadata = { ...observed.service.metadata, annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } };
    expect(hintsOf(settle({ ...observed, service: { ...observed.service, metadata } })).flat()).toEqual([]);
  });
});
