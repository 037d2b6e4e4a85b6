import { expect, test } from 'vitest';
import { service, topology } from '../testing/services.ts';
import { hostRange, loadBalancerAddresses, planAddresses, planLoadBalancerAddresses } from './host-addresses.ts';

const { podCidr } = topology();
const RANGE = hostRange(podCidr) ?? { first: 0, last: 0 };

const LISTING = `9: gtp-test    inet 10.128.0.1/20 brd 10.128.15.255 scope global gtp-test\\       valid_lft forever preferred_lft forever
9: gtp-test    inet 10.128.12.3/32 scope global gtp-test\\       valid_lft forever preferred_lft forever
9: gtp-test    inet 10.128.10.7/32 scope global gtp-test\\       valid_lft forever preferred_lft forever
9: gtp-test    inet 192.0.2.9/32 scope global gtp-test\\       valid_lft forever preferred_lft forever
`;

test.each<readonly [string, readonly string[], readonly string[]]>([
  ['nothing is done where all is as wanted', ['10.128.12.3', '10.128.10.7'], []],
  [
    'what is not wanted goes, what is missing comes',
    ['10.128.12.3', '10.128.12.4'],
    ['address delete 10.128.10.7/32 dev gtp-test', 'address replace 10.128.12.4/32 dev gtp-test'],
  ],
  [
    "others' addresses stay",
    [],
    ['address delete 10.128.12.3/32 dev gtp-test', 'address delete 10.128.10.7/32 dev gtp-test'],
  ],
])('addresses of the bridge: %s', (_, wanted, lines) => {
  expect(planAddresses(LISTING, { device: 'gtp-test', wanted: new Set(wanted), range: RANGE })).toEqual(lines);
});

test.each<readonly [string, ReturnType<typeof service>, readonly string[]]>([
  ['of our range', service({ type: 'LoadBalancer' }, ['10.128.10.7']), ['10.128.10.7']],
  ["another load balancer's", service({ type: 'LoadBalancer' }, ['192.0.2.7']), []],
  ["a Node's", service({ type: 'LoadBalancer' }, ['10.128.12.3']), []],
  ['left from another type', service({ type: 'ClusterIP' }, ['10.128.10.7']), []],
])("addresses that the host has for a Service's load balancer: %s", (_, object, expected) => {
  const addresses = loadBalancerAddresses(object, podCidr);
  expect(addresses).toEqual(expected);
  expect(planLoadBalancerAddresses(addresses).elements.map(({ key }) => key)).toEqual(expected);
});
