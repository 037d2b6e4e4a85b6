import type { Endpoints, EndpointSlice } from '@gantry/api';
import { describe, expect, it } from 'vitest';
import { planApiEndpoints } from './plan.ts';

const none = { endpoints: undefined, slice: undefined };

/** Both objects as the plan makes them. */
function made(addresses: readonly string[]): { endpoints: Endpoints; slice: EndpointSlice } {
  const [one, other] = planApiEndpoints(none, addresses, 6443);
  if (one?.what !== 'endpoints' || other?.what !== 'slice') throw new Error('both are made');
  return { endpoints: one.object, slice: other.object };
}

describe('planning the endpoints of the API servers', () => {
  it('lists every address once, in order, in both', () => {
    const { endpoints, slice } = made(['10.0.0.2', '10.0.0.1', '10.0.0.2']);
    expect(endpoints.subsets?.[0]?.addresses).toEqual([{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }]);
    expect(slice.endpoints?.map(({ addresses }) => addresses)).toEqual([['10.0.0.1'], ['10.0.0.2']]);
    expect(slice.metadata.labels).toEqual({ 'kubernetes.io/service-name': 'kubernetes' });
    expect(planApiEndpoints({ endpoints, slice }, ['10.0.0.1', '10.0.0.2'], 6443)).toEqual([]);
  });

  it('follows the addresses, and mends what was changed', () => {
    const before = made(['10.0.0.1']);
    const plan = planApiEndpoints(before, ['10.0.0.3'], 6443);
    expect(plan.map(({ kind, what }) => `${kind} ${what}`)).toEqual(['update endpoints', 'update slice']);
    const broken = { ...before, slice: { ...before.slice, endpoints: [] } };
    expect(planApiEndpoints(broken, ['10.0.0.1'], 6443)).toEqual([
      { kind: 'update', what: 'slice', object: before.slice },
    ]);
  });

  it('keeps what there is while no address is known', () => {
    expect(planApiEndpoints(made(['10.0.0.1']), [], 6443)).toEqual([]);
  });
});
