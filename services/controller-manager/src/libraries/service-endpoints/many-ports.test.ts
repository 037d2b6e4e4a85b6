import type { Endpoints } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { sketchNode, sketchPod, sketchService } from '../../testing/service-fixtures.ts';
import { groupMirror, planMirror } from '../../controllers/endpoint-slice-mirroring/plan.ts';
import { planSlices } from '../../controllers/endpoint-slice/plan.ts';
import { planEndpoints } from '../../controllers/endpoints/plan.ts';

/** Ports that count how often one of them is read. */
function countedPorts(count: number): {
  readonly list: { name: string; port: number }[];
  readonly looks: () => number;
} {
  let looks = 0;
  const list = Array.from({ length: count }, (_, i) => ({
    name: `p${i}`,
    get port() {
      looks++;
      return i + 1;
    },
  }));
  return { list, looks: () => looks };
}

const PODS = 300;
const PORTS = 200;
/** The most reads that are allowed. Each port is sorted, compared and printed a few times. Once for each pod would mean 300 times. */
const MOST = 20 * PORTS;
const pods = Array.from({ length: PODS }, (_, i) => sketchPod({ name: `p${i}`, ip: `10.0.${i >> 8}.${i & 255}` }));

describe('the work for a Service with many ports', () => {
  it('does not grow with ports times pods, in Endpoints', () => {
    const { list: ports, looks } = countedPorts(PORTS);
    const service = sketchService({ ports });
    const observed = { service, pods, endpoints: undefined, triggerTime: undefined, wasThere: false };
    const [action] = planEndpoints(observed).actions;
    const [subset] = action?.endpoints.subsets ?? [];
    expect([subset?.addresses?.length, subset?.ports?.length]).toEqual([PODS, PORTS]);
    expect(looks()).toBeLessThan(MOST);
  });

  it('does not grow with ports times pods, in EndpointSlices', () => {
    const { list: ports, looks } = countedPorts(PORTS);
    const nodes = new Map([['node', sketchNode('node')]]);
    const { actions } = planSlices({
      service: sketchService({ ports }),
      pods,
      nodes,
      slices: [],
      triggerTime: undefined,
    });
    expect(actions).toHaveLength(3);
    expect(looks()).toBeLessThan(MOST);
  });

  it('does not grow with ports times addresses, in mirrored EndpointSlices', () => {
    const { list: ports, looks } = countedPorts(PORTS);
    const addresses = pods.map(({ status }) => ({ ip: status?.podIP ?? '' }));
    const endpoints: Endpoints = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'sv', namespace: 'n', uid: 'e' },
      subsets: [{ addresses, ports }],
    };
    const { selector: _, ...spec } = sketchService().spec ?? {};
    const observed = { endpoints, service: { ...sketchService(), spec }, slices: [] };
    const { actions } = planMirror(observed, groupMirror(observed));
    expect(actions).toHaveLength(1);
    expect(looks()).toBeLessThan(MOST);
  });
});
