import { expect, it } from 'vitest';
import { slice } from '../testing/objects.ts';
import { endpointFilter, targetsOf } from './endpoints.ts';

const web = { namespace: 'a', service: 'web', port: 'http', protocol: 'http' } as const;
const mayServe = endpointFilter(['10.128.240.0/24', '10.128.0.9']);
const targets = (...slices: readonly ReturnType<typeof slice>[]) => [...targetsOf(web, slices, mayServe)];

it.each([
  [
    'the ready ones',
    ['10.128.4.2', '10.128.4.1', '10.128.4.3!', '10.128.4.4~'],
    ['10.128.4.1:8080', '10.128.4.2:8080'],
  ],
  ['those that serve while they terminate, when none is ready', ['10.128.4.3!', '10.128.4.4~'], ['10.128.4.4:8080']],
  ['none that neither is ready nor serves', ['10.128.4.3!'], []],
  [
    'none on loopback, addresses of metadata services, the control network and the proxy itself',
    [
      '127.0.0.1',
      '169.254.169.254',
      '100.100.100.200',
      '10.128.240.7',
      '10.128.0.9',
      '224.0.0.1',
      '0.0.0.0',
      'etcd-0',
      '10.128.4.1',
    ],
    ['10.128.4.1:8080'],
  ],
])('the endpoints are %s', (_, endpoints, expected) => {
  expect(targets(slice('a/web', endpoints))).toEqual(expected);
});

it('an address that is listed twice counts as the one that does not terminate', () => {
  expect(targets(slice('a/web', ['10.128.4.1~']), slice('a/web', ['10.128.4.1']))).toEqual(['10.128.4.1:8080']);
  expect(targets(slice('a/web', ['10.128.4.1']), slice('a/web', ['10.128.4.1~']))).toEqual(['10.128.4.1:8080']);
});

it('the number of the port is that of each slice, by name; slices without it, and of other families, have none', () => {
  const six = { ...slice('a/web', ['fd00::1']), addressType: 'IPv6' };
  const udp = slice('a/web', ['10.128.4.7']);
  expect(
    targets(
      slice('a/web', ['10.128.4.1'], 8080),
      slice('a/web', ['10.128.4.2'], 9090),
      slice('a/web', ['10.128.4.3'], 1, 'other'),
      six,
      { ...udp, ports: [{ name: 'http', port: 8080, protocol: 'UDP' }] },
    ),
  ).toEqual(['10.128.4.1:8080', '10.128.4.2:9090']);
});
