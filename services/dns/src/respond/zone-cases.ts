import type { RecordType } from 'dns-packet';

/** A question, the code of its response and its sorted answers. `additionals` are set where they matter. */
export interface ZoneCase {
  readonly says: string;
  readonly name: string;
  readonly type?: RecordType;
  readonly code?: 'NXDOMAIN' | 'SERVFAIL';
  readonly answers?: readonly string[];
  readonly additionals?: readonly string[];
}

const WEB = 'web.default.svc.cluster.local';
const DB = 'db.default.svc.cluster.local';

/** Cases of Kubernetes' DNS specification 1.1.0, and of the negative answers that RFC 2308 and RFC 8020 add to it. */
export const ZONE_CASES: readonly ZoneCase[] = [
  {
    says: 'the version of the specification',
    name: 'dns-version.cluster.local',
    type: 'TXT',
    answers: ['dns-version.cluster.local TXT 1.1.0'],
  },
  { says: 'the version has no address', name: 'dns-version.cluster.local' },
  { says: 'a Service has its cluster address', name: WEB, answers: [`${WEB} A 10.96.0.20`] },
  {
    says: 'a name is the same in any case of letters',
    name: 'Web.Default.SVC.cluster.LOCAL',
    answers: ['Web.Default.SVC.cluster.LOCAL A 10.96.0.20'],
  },
  { says: 'a Service has no IPv6 address, and exists', name: WEB, type: 'AAAA' },
  { says: 'a Service without an address exists', name: 'pending.default.svc.cluster.local' },
  {
    says: 'a named port',
    name: `_http._tcp.${WEB}`,
    type: 'SRV',
    answers: [`_http._tcp.${WEB} SRV 0 100 80 ${WEB}`],
    additionals: [`${WEB} A 10.96.0.20`],
  },
  {
    says: 'a named port over UDP',
    name: `_dns._udp.${WEB}`,
    type: 'SRV',
    answers: [`_dns._udp.${WEB} SRV 0 100 53 ${WEB}`],
  },
  { says: 'a named port has no address', name: `_http._tcp.${WEB}` },
  { says: 'a named port of another protocol', name: `_http._udp.${WEB}`, type: 'SRV', code: 'NXDOMAIN' },
  { says: 'a port that does not exist', name: `_none._tcp.${WEB}`, type: 'SRV', code: 'NXDOMAIN' },
  { says: 'above a named port is a name without records', name: `_tcp.${WEB}`, type: 'SRV' },
  {
    says: 'without a named port of the protocol there is no such name',
    name: `_sctp.${WEB}`,
    type: 'SRV',
    code: 'NXDOMAIN',
  },
  {
    says: 'all ports of a Service',
    name: WEB,
    type: 'SRV',
    answers: [`${WEB} SRV 0 33 53 ${WEB}`, `${WEB} SRV 0 33 80 ${WEB}`, `${WEB} SRV 0 33 9 ${WEB}`],
    additionals: [`${WEB} A 10.96.0.20`],
  },
  { says: 'below a Service with an address are no endpoints', name: `10-128-4-1.${WEB}`, code: 'NXDOMAIN' },
  {
    says: 'a headless Service has its ready endpoints',
    name: DB,
    answers: [`${DB} A 10.128.4.1`, `${DB} A 10.128.4.2`],
  },
  { says: 'an endpoint with a hostname', name: `db-0.${DB}`, answers: [`db-0.${DB} A 10.128.4.1`] },
  {
    says: 'an endpoint without one is named by its address',
    name: `10-128-4-2.${DB}`,
    answers: [`10-128-4-2.${DB} A 10.128.4.2`],
  },
  { says: 'an endpoint that is not ready has no name', name: `db-2.${DB}`, code: 'NXDOMAIN' },
  {
    says: 'a hostname of several endpoints',
    name: 'one.portless.default.svc.cluster.local',
    answers: [
      'one.portless.default.svc.cluster.local A 10.128.4.7',
      'one.portless.default.svc.cluster.local A 10.128.4.8',
    ],
  },
  { says: 'a headless Service needs no ports', name: 'portless.default.svc.cluster.local', type: 'AAAA' },
  { says: 'a headless Service without ready endpoints', name: 'idle.default.svc.cluster.local', code: 'NXDOMAIN' },
  {
    says: 'a port of a headless Service leads to each endpoint',
    name: `_sql._tcp.${DB}`,
    type: 'SRV',
    answers: [`_sql._tcp.${DB} SRV 0 50 5432 10-128-4-2.${DB}`, `_sql._tcp.${DB} SRV 0 50 5432 db-0.${DB}`],
    additionals: [`10-128-4-2.${DB} A 10.128.4.2`, `db-0.${DB} A 10.128.4.1`],
  },
  {
    says: 'an external name that is of the cluster',
    name: 'alias.default.svc.cluster.local',
    answers: [`alias.default.svc.cluster.local CNAME ${WEB}`, `${WEB} A 10.96.0.20`],
  },
  {
    says: 'the alias alone',
    name: 'alias.default.svc.cluster.local',
    type: 'CNAME',
    answers: [`alias.default.svc.cluster.local CNAME ${WEB}`],
  },
  {
    says: 'an alias of another type',
    name: 'alias.default.svc.cluster.local',
    type: 'AAAA',
    answers: [`alias.default.svc.cluster.local CNAME ${WEB}`],
  },
  { says: 'an alias of itself', name: 'circle.default.svc.cluster.local', code: 'SERVFAIL' },
  { says: 'an external name that no packet can hold', name: 'broken.default.svc.cluster.local', code: 'SERVFAIL' },
  { says: 'below an external name is nothing', name: 'a.alias.default.svc.cluster.local', code: 'NXDOMAIN' },
  {
    says: 'a pod by its address',
    name: '10-128-4-1.default.pod.cluster.local',
    answers: ['10-128-4-1.default.pod.cluster.local A 10.128.4.1'],
  },
  { says: 'a pod of another namespace', name: '10-128-4-1.empty.pod.cluster.local', code: 'NXDOMAIN' },
  { says: 'a pod that has ended', name: '10-128-4-99.default.pod.cluster.local', code: 'NXDOMAIN' },
  { says: 'no address of a pod', name: 'a.default.pod.cluster.local', code: 'NXDOMAIN' },
  { says: 'below a pod is nothing', name: 'x.10-128-4-1.default.pod.cluster.local', code: 'NXDOMAIN' },
  { says: 'the namespaces of pods', name: 'empty.pod.cluster.local' },
  { says: 'all pods', name: 'pod.cluster.local' },
  { says: 'a namespace exists', name: 'empty.svc.cluster.local' },
  { says: 'a namespace that does not exist', name: 'none.svc.cluster.local', code: 'NXDOMAIN' },
  { says: 'a Service that does not exist', name: 'none.default.svc.cluster.local', code: 'NXDOMAIN' },
  { says: 'all Services', name: 'svc.cluster.local' },
  { says: 'the zone', name: 'cluster.local' },
  {
    says: 'the zone has its start of authority',
    name: 'cluster.local',
    type: 'SOA',
    answers: ['cluster.local SOA ns.dns.cluster.local hostmaster.cluster.local'],
  },
  {
    says: 'the zone has its server',
    name: 'cluster.local',
    type: 'NS',
    answers: ['cluster.local NS ns.dns.cluster.local'],
    additionals: ['ns.dns.cluster.local A 10.96.0.10'],
  },
  {
    says: 'the server has the address of its Service',
    name: 'ns.dns.cluster.local',
    answers: ['ns.dns.cluster.local A 10.96.0.10'],
  },
  { says: 'a name that a search path makes', name: 'www.example.com.cluster.local', code: 'NXDOMAIN' },
  {
    says: 'a name that a longer search path makes',
    name: 'web.default.svc.cluster.local.default.svc.cluster.local',
    code: 'NXDOMAIN',
  },
  {
    says: 'the address of a Service has its name',
    name: '20.0.96.10.in-addr.arpa',
    type: 'PTR',
    answers: [`20.0.96.10.in-addr.arpa PTR ${WEB}`],
  },
  {
    says: 'the address of an endpoint has its name',
    name: '1.4.128.10.in-addr.arpa',
    type: 'PTR',
    answers: [`1.4.128.10.in-addr.arpa PTR db-0.${DB}`],
  },
  { says: 'an endpoint that is not ready has none', name: '3.4.128.10.in-addr.arpa', type: 'PTR', code: 'NXDOMAIN' },
  {
    says: 'an address of the cluster that has no name',
    name: '77.0.96.10.in-addr.arpa',
    type: 'PTR',
    code: 'NXDOMAIN',
  },
  { says: 'a part of a range', name: '0.96.10.in-addr.arpa', type: 'PTR' },
  { says: 'more than an address', name: '1.20.0.96.10.in-addr.arpa', type: 'PTR', code: 'NXDOMAIN' },
];
