import type { ServiceSpec } from '@gantry/objects';
import { expect, test } from 'vitest';
import { endpoint, NODE_A, service, slice, topology } from '../testing/services.ts';
import { planService } from './plan-service.ts';
import { tableSkeleton } from './table.ts';

const TUNNEL = { device: 'gtv-test', vni: 77, gateway: '10.128.0.1' };

/** Returns the lines of a chain, without its name. */
function chain(name: string, tunnel?: typeof TUNNEL): string {
  return (
    new RegExp(`^  chain ${name} \\{([^}]*(?:\\{[^}]*\\}[^}]*)*)\\}$`, 'm').exec(
      tableSkeleton({ ...topology(), apiPort: 6443, tunnel }),
    )?.[1] ?? ''
  );
}

const UNJUDGED = 'ct state established,related accept; ip saddr . ip daddr @always-open accept';

test('policies judge what is new, egress before ingress, and no acceptance of one is one of the other', () => {
  expect(chain('egress-policies').trim()).toBe(
    `type filter hook forward priority -4; policy accept; ${UNJUDGED}; ip saddr vmap @egress-isolated;`,
  );
  expect(chain('ingress-policies').trim()).toBe(
    `type filter hook forward priority -3; policy accept; ${UNJUDGED}; ip daddr vmap @ingress-isolated;`,
  );
});

test("pods reach neither an engine nor a tunnel on the host's addresses; the host and others do", () => {
  const input = chain('input');
  expect(input).toContain('iifname "gtp-test" tcp dport { 2375, 2376, 2377, 7946 } drop');
  expect(input).toContain('iifname "gtp-test" udp dport { 4789, 7946, 8472 } drop');
  expect(input.match(/ drop/g)).toHaveLength(3);
});

test("the proxy's own port is for the pods' network, the host and the tunnel, and no pod can take it", () => {
  const report = 'ip daddr 10.128.0.1 tcp dport 10258';
  expect(chain('input')).toContain(`iifname != { "lo", "gtp-test" } ${report} drop`);
  expect(chain('input', TUNNEL)).toContain(`iifname != { "lo", "gtp-test", "gtv-test" } ${report} drop`);
  expect(chain('route-to-host').trim().split(/\n\s*/)[1]).toBe(`${report} return`);
});

test("what is for a cluster's own addresses is routed before what is for any address of the host, which may be another cluster's", () => {
  const hooks = ['prerouting', 'output'].flatMap((name) => [chain(name), chain(`${name}-to-host`)]);
  expect(hooks.map((text) => /priority (-\d+);.* jump (\S+);/.exec(text)?.slice(1))).toEqual([
    ['-106', 'route-to-own'],
    ['-105', 'route-to-host'],
    ['-106', 'route-to-own'],
    ['-105', 'route-to-host'],
  ]);
  for (const line of chain('route-to-own').trim().split('\n')) expect(line).not.toContain('type local');
});

test('the loopback of the host leads to pods only by host ports that name it, and never the port of the API', () => {
  const lines = chain('route-to-host').trim().split(/\n\s*/);
  expect(lines[0]).toBe('ip daddr 127.0.0.0/8 tcp dport 6443 return');
  const open = lines.slice(2).filter((line) => !line.startsWith('ip daddr != 127.0.0.0/8 '));
  expect(open).toEqual([expect.stringMatching(/ ip daddr \. meta l4proto \. th dport map @host-ports$/)]);
});

test("a host port without an address is one of the host's, not of other Nodes or load balancers", () => {
  expect(chain('route-to-host').trim().split(/\n\s*/).at(-1)).toBe(
    'ip daddr != 127.0.0.0/8 ip daddr != @node-addresses ip daddr != @load-balancer-addresses jump route-to-any',
  );
});

test('the agent of a Node is reached from the network of the pods and from the host, before any host port', () => {
  const agents = 'tcp dport 10250 dnat to ip daddr map @agents; jump route-to-own;';
  expect(chain('prerouting')).toContain(`iifname "gtp-test" ${agents}`);
  expect(chain('output')).toContain(`policy accept; ${agents}`);
});

test('packets of other hosts are IPv4 of known senders, for addresses of this host alone, and reach no engine', () => {
  const lines = (name: string) => chain(name, TUNNEL).trim().split(/\n\s*/);
  expect(lines('input')).toContain('udp dport 4789 @th,96,24 77 jump tunnel-packets');
  expect(lines('tunnel-packets')).toEqual(['@th,224,16 != 0x0800 drop', 'ip saddr vmap @tunnel-sources', 'drop']);
  expect(chain('before-prerouting', TUNNEL)).toContain('iifname "gtv-test" jump from-other-hosts; jump check-sources;');
  expect(lines('from-other-hosts')).toEqual(['ip saddr != @other-hosts drop', 'ip daddr != 10.128.0.0/20 drop']);
  expect(lines('input')).toContain('iifname "gtv-test" tcp dport { 2375, 2376, 2377, 7946 } drop');
  expect(lines('input')).toContain('iifname "gtv-test" udp dport { 4789, 7946, 8472 } drop');
});

test("packets to other hosts have addresses of this host's range, and keep those of pods", () => {
  expect(chain('forward', TUNNEL)).toContain('iifname "gtp-test" oifname "gtv-test" ip saddr != 10.128.0.0/20 drop\n');
  const lines = chain('postrouting', TUNNEL).trim().split(/\n\s*/);
  expect(lines.slice(-3)).toEqual([
    'oifname "gtv-test" ip saddr 10.128.0.0/20 snat to ip saddr',
    'oifname "gtv-test" snat to 10.128.0.1',
    expect.stringContaining('meta mark'),
  ]);
});

test("packets from tunnels of other clusters are left to those clusters' rules, also without a tunnel of one's own", () => {
  expect(chain('prerouting')).toContain('iifname "gtv-*" return;');
  expect(chain('prerouting', TUNNEL)).toContain('iifname "gtv-*" iifname != "gtv-test" return;');
  expect(chain('input')).not.toContain('4789 @th');
});

test('the agent of a Node is reached from other hosts, where API servers are', () => {
  expect(chain('prerouting', TUNNEL)).toContain(
    'iifname "gtv-test" tcp dport 10250 dnat to ip daddr map @agents; jump route-to-own;',
  );
  expect(chain('prerouting')).not.toContain('gtv-test');
});

test.each<readonly [string, Partial<ServiceSpec>]>([
  ['of one address', {}],
  ['with node ports', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }],
  ['that keeps its clients', { sessionAffinity: 'ClientIP' }],
  [
    'that stays on a Node',
    { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }], externalTrafficPolicy: 'Local' },
  ],
  ['with external addresses', { externalIPs: Array.from({ length: 20 }, (_, index) => `192.0.2.${index + 1}`) }],
  ['of a load balancer with ranges of clients', { type: 'LoadBalancer', loadBalancerSourceRanges: ['192.0.2.0/24'] }],
])(
  'a Service %s adds no rule that packets of others pass: what a packet costs does not depend on how many there are',
  (_, spec) => {
    const common = [...tableSkeleton({ ...topology(), apiPort: 6443, tunnel: TUNNEL }).matchAll(/chain (\S+) \{/g)];
    const found = planService(service(spec, ['10.128.10.0']), [slice([endpoint('10.128.4.1')])], topology(NODE_A));
    expect(common.length).toBeGreaterThan(10);
    expect(found.elements.length).toBeGreaterThan(0);
    for (const [, name = ''] of common) expect([...found.chains.keys()]).not.toContain(name);
  },
);
