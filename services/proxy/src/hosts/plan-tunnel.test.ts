import { must } from '@gantry/base';
import { parseIpv4Range } from '@gantry/objects';
import { expect, test } from 'vitest';
import { NOTHING, type ObservedTunnel, planRemoval, planTunnel } from './plan-tunnel.ts';
import { readTunnel, readUnderlay } from './read-tunnel.ts';
import { tunnelDevice, tunnelNumber, tunnelOf, tunnelRoutes } from './tunnel.ts';

const tunnel = tunnelOf({
  clusterId: 'gantry-ae1b6f',
  podBridge: 'gtp-ae1b6f',
  podRange: must(parseIpv4Range('10.128.0.0/20'), 'a range'),
  hostAddress: '192.0.2.1',
});
const routes = tunnelRoutes([{ address: '192.0.2.2', cidr: '10.128.16.0/20' }]);
const wanted = { tunnel, mtu: 1450, routes };
const LINK = '02:67:0a:80:10:00';

/** The kernel's state after everything has been written. */
const complete: ObservedTunnel = {
  link: {
    vni: tunnel.vni,
    local: '192.0.2.1',
    port: 4789,
    learning: false,
    linkAddress: tunnel.linkAddress,
    mtu: 1450,
    isUp: true,
  },
  routes: [{ destination: '10.128.16.0/20', gateway: '10.128.16.0', metric: 4789 }],
  neighbours: [{ address: '10.128.16.0', linkAddress: LINK }],
  forwarding: [{ linkAddress: LINK, remote: '192.0.2.2' }],
};

const ADDED = `link add name gtv-ae1b6f address 02:67:0a:80:00:00 mtu 1450 type vxlan id ${tunnel.vni} dstport 4789 local 192.0.2.1 nolearning`;
const ROUTE = 'route replace 10.128.16.0/20 via 10.128.16.0 dev gtv-ae1b6f onlink proto static metric 4789';
const NEIGHBOUR = `neighbour replace 10.128.16.0 lladdr ${LINK} dev gtv-ae1b6f nud permanent`;
const ENTRY = `fdb replace ${LINK} dev gtv-ae1b6f dst 192.0.2.2 self permanent`;
const ALL = { ip: [ADDED, 'link set dev gtv-ae1b6f up', ROUTE, NEIGHBOUR], bridge: [ENTRY] };

test.each<readonly [string, ObservedTunnel, { readonly ip: readonly string[]; readonly bridge: readonly string[] }]>([
  ['nothing', NOTHING, ALL],
  ['all', complete, { ip: [], bridge: [] }],
  [
    'another network in the same device',
    { ...complete, link: { ...must(complete.link, 'a link'), vni: 5 } },
    { ...ALL, ip: ['link delete dev gtv-ae1b6f', ...ALL.ip] },
  ],
  [
    'a device that learns',
    { ...complete, link: { ...must(complete.link, 'a link'), learning: true } },
    { ...ALL, ip: ['link delete dev gtv-ae1b6f', ...ALL.ip] },
  ],
  [
    'another MTU',
    { ...complete, link: { ...must(complete.link, 'a link'), mtu: 1500 } },
    { ip: ['link set dev gtv-ae1b6f mtu 1450'], bridge: [] },
  ],
  ['no entry', { ...complete, forwarding: [] }, { ip: [], bridge: [ENTRY] }],
  [
    'an entry that leads elsewhere',
    { ...complete, forwarding: [{ linkAddress: LINK, remote: '192.0.2.66' }] },
    { ip: [], bridge: [`fdb delete ${LINK} dev gtv-ae1b6f dst 192.0.2.66 self`, ENTRY] },
  ],
  [
    'a route of a host that is gone',
    {
      ...complete,
      routes: [...complete.routes, { destination: '10.128.32.0/20', gateway: '10.128.32.0', metric: 4789 }],
    },
    { ip: ['route delete 10.128.32.0/20 dev gtv-ae1b6f metric 4789'], bridge: [] },
  ],
  [
    'a neighbour of a host that is gone',
    { ...complete, neighbours: [...complete.neighbours, { address: '10.128.32.0', linkAddress: '02:67:0a:80:20:00' }] },
    { ip: ['neighbour delete 10.128.32.0 dev gtv-ae1b6f'], bridge: [] },
  ],
])('where the kernel has %s, what differs is written', (_, observed, change) => {
  expect(planTunnel(observed, wanted)).toEqual(change);
});

test('removal deletes the device where there is one', () => {
  expect(planRemoval(complete, 'gtv-a').ip).toEqual(['link delete dev gtv-a']);
  expect(planRemoval(NOTHING, 'gtv-a').ip).toEqual([]);
});

test('what programs print is read as the plan needs it', () => {
  const links = JSON.stringify([
    {},
    {
      ifname: 'gtv-ae1b6f',
      flags: ['BROADCAST', 'UP'],
      mtu: 1450,
      address: tunnel.linkAddress,
      linkinfo: { info_kind: 'vxlan', info_data: { id: tunnel.vni, local: '192.0.2.1', port: 4789, learning: false } },
    },
  ]);
  const listings = {
    links,
    routes: '[{"dst":"10.128.16.0/20","gateway":"10.128.16.0","protocol":"static","metric":4789,"flags":["onlink"]}]',
    neighbours: `[{"dst":"10.128.16.0","lladdr":"${LINK}","state":["PERMANENT"]}]`,
    forwarding: `[{"mac":"${LINK}","dst":"192.0.2.2","flags":["self"],"state":"permanent"},{"mac":"33:33:00:00:00:01"}]`,
  };
  expect(readTunnel('gtv-ae1b6f', listings)).toEqual(complete);
  expect(readTunnel('gtv-other', { links, routes: '', neighbours: '[]', forwarding: '' })).toEqual(NOTHING);
});

test('the way of packets takes as much as the link that has the address', () => {
  expect(readUnderlay('[{"ifname":"eth0","mtu":1400,"flags":["UP"]}]')).toEqual({ mtu: 1400 });
  expect(readUnderlay('[{"ifname":"lo","mtu":65536,"flags":["LOOPBACK"]}]')).toEqual({ mtu: 1500 });
  for (const none of ['', '[]', '[{}]']) expect(readUnderlay(none)).toBeUndefined();
});

test("the device's name and number follow from the cluster's", () => {
  expect(tunnelDevice('gtp-ae1b6f')).toBe('gtv-ae1b6f');
  expect(tunnelDevice('a-bridge-of-mine')).toHaveLength(15);
  expect(tunnelNumber('a')).not.toBe(tunnelNumber('b'));
  expect(tunnelNumber('a')).toBeLessThan(2 ** 24);
});
