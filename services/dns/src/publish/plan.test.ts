import { expect, it } from 'vitest';
import { slice } from '../testing/example-cluster.ts';
import { addressesOf, type ObservedServers, planServers } from './plan.ts';

const stored = (...addresses: string[]) => slice('kube-system', 'kube-dns', addresses, [], 'kube-dns');
const A = { own: '10.128.0.5', serves: true, silent: new Set<string>() };

it.each<[string, ObservedServers, readonly string[] | 'nothing']>([
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
  const { actions } = planServers(observed);
  expect(actions.length === 0 ? 'nothing' : addressesOf(actions[0]?.slice)).toEqual(addresses);
  if (actions[0] === undefined) return;
  expect(actions[0].slice.metadata).toMatchObject({ namespace: 'kube-system', name: 'kube-dns' });
  expect(planServers({ ...observed, slice: actions[0].slice }).actions).toEqual([]);
});
