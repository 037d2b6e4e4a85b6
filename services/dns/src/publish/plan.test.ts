import type { Endpoints } from '@gantry/objects';
import { expect, it } from 'vitest';
import { slice } from '../testing/example-cluster.ts';
import { addressesOf, type ObservedServers, planServers } from './plan.ts';

const stored = (...addresses: string[]) => slice('kube-system', 'kube-dns', addresses, [], 'kube-dns');
const A = { own: '10.128.0.5', serves: true, silent: new Set<string>() };

it.each<[string, Omit<ObservedServers, 'endpoints'>, readonly string[] | 'nothing']>([
  ['adds itself where there is no slice', { ...A, slice: undefined }, ['10.128.0.5']],
  ['adds itself to others', { ...A, slice: stored('10.128.0.4') }, ['10.128.0.4', '10.128.0.5']],
  ['writes nothing when it is there', { ...A, slice: stored('10.128.0.4', '10.128.0.5') }, 'nothing'],
  [
    'removes one that does not answer',
    { ...A, slice: stored('10.128.0.4', '10.128.0.5'), silent: new Set(['10.128.0.4']) },
    ['10.128.0.5'],
  ],
  [
    'never removes itself for silence',
    { ...A, slice: stored('10.128.0.5'), silent: new Set(['10.128.0.5']) },
    'nothing',
  ],
  ['removes itself when it leaves', { ...A, serves: false, slice: stored('10.128.0.4', '10.128.0.5') }, ['10.128.0.4']],
  ['keeps the last address', { ...A, serves: false, slice: stored('10.128.0.5') }, 'nothing'],
  ['adds nothing while it does not serve', { ...A, serves: false, slice: stored('10.128.0.4') }, 'nothing'],
])('%s', (_, observed, addresses) => {
  const before = { ...observed, endpoints: endpointsOf(addressesOf(observed.slice)) };
  const { actions } = planServers(before);
  if (addresses === 'nothing') {
    expect(actions).toEqual([]);
    return;
  }
  const [slice, endpoints] = actions;
  if (slice?.kind !== 'writeSlice' || endpoints?.kind !== 'writeEndpoints') throw new RangeError('both are written');
  expect(addressesOf(slice.object)).toEqual(addresses);
  expect(slice.object.metadata).toMatchObject({ namespace: 'kube-system', name: 'kube-dns' });
  expect(endpoints.object).toMatchObject({
    metadata: {
      namespace: 'kube-system',
      name: 'kube-dns',
      labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
    },
    subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: slice.object.ports }],
  });
  expect(planServers({ ...observed, slice: slice.object, endpoints: endpoints.object }).actions).toEqual([]);
});

it.each([undefined, endpointsOf(['10.128.0.9'])])(
  'writes Endpoints that do not list what the slice does',
  (endpoints) => {
    const { actions } = planServers({ ...A, serves: false, slice: stored('10.128.0.4'), endpoints });
    expect(actions).toMatchObject([{ kind: 'writeEndpoints', write: endpoints === undefined ? 'create' : 'update' }]);
    expect(actions[0]?.object).toMatchObject({ subsets: [{ addresses: [{ ip: '10.128.0.4' }] }] });
  },
);

function endpointsOf(addresses: readonly string[]): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {},
    subsets: [{ addresses: addresses.map((ip) => ({ ip })) }],
  };
}
