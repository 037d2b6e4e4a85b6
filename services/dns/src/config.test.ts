import { expect, it } from 'vitest';
import { exampleCluster, service, slice } from './testing/example-cluster.ts';
import { readDnsConfig } from './config.ts';
import { ReverseZone } from './zone/reverse-zone.ts';

const REQUIRED = { GANTRY_POD_CIDR: '10.128.16.0/20' };

it.each([
  { says: 'a pod of this host', name: '9.20.128.10.in-addr.arpa', kind: 'absent' },
  { says: 'a pod of another host', name: '9.36.128.10.in-addr.arpa', kind: 'absent' },
  { says: 'an endpoint on another host', name: '8.36.128.10.in-addr.arpa', kind: 'present' },
  { says: 'a Service', name: '9.0.96.10.in-addr.arpa', kind: 'absent' },
  { says: 'an address outside', name: '9.0.129.10.in-addr.arpa', kind: undefined },
  {
    says: 'a pod of another host in a range that is set',
    name: '9.0.129.10.in-addr.arpa',
    set: { GANTRY_CLUSTER_CIDR: '10.128.0.0/12' },
    kind: 'absent',
  },
  {
    says: 'a Service of a set range',
    name: '9.1.0.172.in-addr.arpa',
    set: { GANTRY_SERVICE_CIDR: '172.0.0.0/16' },
    kind: 'absent',
  },
])('the name of the address of $says: $kind', async ({ name, kind, set = {} }) => {
  const stop = new AbortController();
  const db = service('default', 'db', { clusterIP: 'None', ports: [{ port: 80 }] });
  const { zone } = await exampleCluster([db, slice('default', 'db', ['10.128.36.8'])], stop.signal);
  const reverse = new ReverseZone(readDnsConfig({ ...REQUIRED, ...set }).reverseCidrs);
  expect(reverse.lookUp(zone, name)?.found.kind).toBe(kind);
  stop.abort();
});

it.each([
  ['GANTRY_POD_CIDR', '10.128.16.0', 'is not an IPv4 range'],
  ['GANTRY_SERVICE_CIDR', 'fd00::/108', 'is not an IPv4 range'],
  ['GANTRY_CLUSTER_CIDR', '10.129.0.0/16', 'does not contain GANTRY_POD_CIDR'],
])('names the variable of a bad range: %s=%s', (variable, text, message) => {
  const read = () => readDnsConfig({ ...REQUIRED, [variable]: text });
  expect(read).toThrow(variable);
  expect(read).toThrow(message);
});
