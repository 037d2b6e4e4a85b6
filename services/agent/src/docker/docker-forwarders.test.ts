import { expect, it } from 'vitest';
import { forwarderOptions, forwarderRules } from './docker-forwarders.ts';

const SPEC = {
  cluster: 'gantry-ab12cd',
  namespace: 'shop',
  name: 'web',
  uid: 'u',
  hash: 'h',
  image: 'sha256:1',
  network: 'gantry-ab12cd-pods',
  target: '10.128.10.7',
  ports: [
    { protocol: 'tcp', hostPort: 30_080, port: 80 },
    { protocol: 'udp', hostPort: 53, port: 53 },
    { protocol: 'tcp', hostPort: 443, port: 443 },
  ],
  closedRange: '10.128.4.0-10.128.9.255',
} as const;

it('its rules lead from its ports to the load balancer, but not for pods, and forward nothing else', () => {
  expect(forwarderRules(SPEC)).toBe(`table ip forwarder {
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    ip saddr 10.128.4.0-10.128.9.255 return
    tcp dport { 80, 443 } dnat to 10.128.10.7
    udp dport { 53 } dnat to 10.128.10.7
  }
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct status dnat accept
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ct status dnat masquerade
  }
}
`);
});

it('the engine publishes its ports on the loopback alone, and it has no right but to its own network', () => {
  const { ExposedPorts: exposed, HostConfig: host, Labels: labels } = forwarderOptions(SPEC);
  expect(host?.PortBindings).toEqual({
    '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '30080' }],
    '53/udp': [{ HostIp: '127.0.0.1', HostPort: '53' }],
    '443/tcp': [{ HostIp: '127.0.0.1', HostPort: '443' }],
  });
  expect(Object.keys(exposed ?? {})).toEqual(['80/tcp', '53/udp', '443/tcp']);
  expect(host).toMatchObject({ CapDrop: ['ALL'], CapAdd: ['NET_ADMIN'], ReadonlyRootfs: true, PidsLimit: 16 });
  expect(host?.SecurityOpt).toContain('no-new-privileges');
  expect(labels).toMatchObject({ 'gantry.cluster': 'gantry-ab12cd', 'gantry.forwarder': 'u' });
});
