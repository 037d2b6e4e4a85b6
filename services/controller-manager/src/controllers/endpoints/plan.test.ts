import { readFileSync } from 'node:fs';
import type { Endpoints, EndpointSubset, ServiceSpec } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PodSketch, sketchPod, sketchService } from '../../testing/service-fixtures.ts';
import { type ObservedEndpoints, planEndpoints, truncate } from './plan.ts';

interface Case {
  readonly title: string;
  readonly spec?: ServiceSpec;
  readonly pods: readonly PodSketch[];
  readonly subsets: readonly { readonly ready?: string[]; readonly notReady?: string[]; readonly ports: string[] }[];
  readonly headless?: boolean;
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const TRIGGER = '2030-01-01T00:00:10Z';

function observe(spec: ServiceSpec | undefined, pods: readonly PodSketch[], endpoints?: Endpoints): ObservedEndpoints {
  const service = sketchService(spec, { labels: { s: '1' } });
  return { service, pods: pods.map(sketchPod), endpoints, triggerTime: TRIGGER, wasThere: true };
}

function written(observed: ObservedEndpoints): Endpoints | undefined {
  const [action] = planEndpoints(observed).actions;
  return action?.endpoints;
}

const sketch = ({ addresses, notReadyAddresses, ports = [] }: EndpointSubset) => ({
  ...(addresses === undefined ? {} : { ready: addresses.map(({ ip }) => ip) }),
  ...(notReadyAddresses === undefined ? {} : { notReady: notReadyAddresses.map(({ ip }) => ip) }),
  ports: ports.map(({ name = '', port, protocol = '' }) => `${name}:${port}/${protocol}`),
});

describe('the Endpoints of a Service', () => {
  it.each(CASES)('$title', ({ spec, pods, subsets, headless = false }) => {
    const observed = observe(spec, pods);
    const endpoints = written(observed);
    expect((endpoints?.subsets ?? []).map(sketch)).toEqual(subsets);
    expect(endpoints?.metadata.labels).toEqual({
      s: '1',
      'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
      ...(headless ? { 'service.kubernetes.io/headless': '' } : {}),
    });
    expect(endpoints?.metadata.annotations).toEqual({ 'endpoints.kubernetes.io/last-change-trigger-time': TRIGGER });
    expect(planEndpoints({ ...observed, endpoints }).actions).toEqual([]);
  });

  it('name pod, node and host name', () => {
    const pods = [{ name: 'a', ip: '10.0.0.1', hostname: 'h', subdomain: 'sv' }];
    expect(written(observe({ clusterIP: 'None' }, pods))?.subsets?.[0]?.addresses).toEqual([
      {
        ip: '10.0.0.1',
        hostname: 'h',
        nodeName: 'node',
        targetRef: { kind: 'Pod', namespace: 'n', name: 'a', uid: 'uid-a' },
      },
    ]);
    const elsewhere = [{ name: 'a', ip: '10.0.0.1', hostname: 'h', subdomain: 'other' }];
    expect(written(observe({}, elsewhere))?.subsets?.[0]?.addresses?.[0]).toMatchObject({ hostname: undefined });
  });

  it('are right after any changes of pods, and written only then', () => {
    const pod = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      ip: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'),
      ready: fc.boolean(),
      deleted: fc.boolean(),
      ports: fc.constantFrom<Record<string, number>>({ web: 80 }, { web: 81 }, {}),
    });
    const pods = fc.uniqueArray(pod, { selector: ({ name }) => name, maxLength: 4 });
    const ports = [
      { name: 'x', port: 1, protocol: 'TCP', targetPort: 'web' },
      { name: 'y', port: 2, protocol: 'TCP', targetPort: 9 },
    ];
    fc.assert(
      fc.property(fc.array(pods, { minLength: 1, maxLength: 4 }), (history) => {
        let endpoints: Endpoints | undefined;
        for (const state of history) {
          const observed = observe({ ports }, state, endpoints);
          endpoints = written(observed) ?? endpoints;
          expect(planEndpoints({ ...observed, endpoints }).actions).toEqual([]);
        }
        const live = (history.at(-1) ?? []).filter(({ deleted }) => !deleted);
        const at = (name: string) =>
          (endpoints?.subsets ?? [])
            .filter((subset) => subset.ports?.some((port) => port.name === name))
            .flatMap(({ addresses = [], notReadyAddresses = [] }) => [...addresses, ...notReadyAddresses])
            .map(({ targetRef }) => targetRef?.name)
            .sort();
        expect(at('y')).toEqual(live.map(({ name }) => name).sort());
        const named = live.filter((one) => 'web' in one.ports).map(({ name }) => name);
        expect(at('x')).toEqual(named.sort());
      }),
      { seed: 11, numRuns: 200 },
    );
  });

  it('lose the trigger time when a change has none', () => {
    const endpoints = written(observe({}, []));
    const observed = observe({}, [{ name: 'a', ip: '10.0.0.1' }], endpoints);
    expect(written({ ...observed, triggerTime: undefined })?.metadata.annotations).toEqual({});
  });

  it('follow the labels of the Service', () => {
    const observed = observe({}, []);
    const endpoints = written(observed);
    const service = sketchService({}, { labels: { s: '2', 'service.kubernetes.io/headless': 'x' } });
    expect(written({ ...observed, service, endpoints })?.metadata.labels).toEqual({
      s: '2',
      'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
    });
  });

  it.each([
    ['another host', { type: 'ExternalName' }],
    ['no pods', { selector: {} }],
  ])('are left to others when it selects %s', (_, spec) => {
    expect(planEndpoints(observe(spec, [])).actions).toEqual([]);
  });

  it('end with it; those that it never had stay, unless they are of this controller', () => {
    const endpoints: Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'sv', namespace: 'n' } };
    const gone = { service: undefined, pods: [], triggerTime: undefined };
    const deletion = { kind: 'delete', endpoints };
    expect(planEndpoints({ ...gone, endpoints, wasThere: true }).actions).toEqual([deletion]);
    expect(planEndpoints({ ...gone, endpoints, wasThere: false }).actions).toEqual([]);
    const ours = written(observe({}, []));
    expect(planEndpoints({ ...gone, endpoints: ours, wasThere: false }).actions).toHaveLength(1);
    expect(planEndpoints({ ...gone, endpoints: undefined, wasThere: true }).actions).toEqual([]);
  });
});

describe('more than 1,000 addresses', () => {
  const subset = (ready: number, notReady: number, from: number): EndpointSubset => {
    const addresses = (count: number, part: number) =>
      Array.from({ length: count }, (_, i) => ({ ip: `10.${from}.${part}.${i}` }));
    return { addresses: addresses(ready, 1), notReadyAddresses: addresses(notReady, 2), ports: [{ port: from }] };
  };
  const counts = (subsets: readonly EndpointSubset[]) =>
    subsets.map(({ addresses = [], notReadyAddresses = [] }) => [addresses.length, notReadyAddresses.length]);

  it.each([
    ['as many as allowed stay', [[900, 100]], [[900, 100]], false],
    ['unready ones go first', [[900, 101]], [[900, 100]], true],
    ['ready ones are cut when they alone are too many', [[1001, 5]], [[1000, 0]], true],
    [
      'subsets keep their shares',
      [
        [900, 0],
        [300, 0],
      ],
      [
        [750, 0],
        [250, 0],
      ],
      true,
    ],
    [
      'unready ones keep the shares of the room that is left',
      [
        [600, 300],
        [200, 300],
      ],
      [
        [600, 100],
        [200, 100],
      ],
      true,
    ],
  ])('%s', (_, before, after, isTruncated) => {
    const result = truncate(before.map(([ready = 0, notReady = 0], i) => subset(ready, notReady, i + 1)));
    expect(counts(result.subsets)).toEqual(after);
    expect(result.isTruncated).toBe(isTruncated);
  });

  it('are marked, and the mark goes with them', () => {
    const many = Array.from({ length: 1001 }, (_, i) => ({ name: `p${i}`, ip: `10.1.${i >> 8}.${i & 255}` }));
    const observed = observe({}, many);
    const endpoints = written(observed);
    expect(endpoints?.metadata.annotations?.['endpoints.kubernetes.io/over-capacity']).toBe('truncated');
    expect(planEndpoints({ ...observed, endpoints }).actions).toEqual([]);
    const fewer = written(observe({}, many.slice(1), endpoints));
    expect(fewer?.metadata.annotations).not.toHaveProperty('endpoints.kubernetes.io/over-capacity');
    expect(fewer?.subsets?.[0]?.addresses).toHaveLength(1000);
  });
});
