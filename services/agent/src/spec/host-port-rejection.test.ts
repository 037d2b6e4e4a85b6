import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { hostPortRejection } from './host-port-rejection.ts';

const ADDRESSES = { nodeAddress: '10.128.12.4', podCidr: '10.128.0.0/20' };

it.each<readonly [string, string | undefined, string | undefined]>([
  ['all addresses', undefined, undefined],
  ['all addresses of IPv4', '0.0.0.0', undefined],
  ["the node's own", '10.128.12.4', undefined],
  ['the loopback', '127.0.0.1', undefined],
  ['another one of the host', '192.0.2.7', undefined],
  ["another node's", '10.128.12.7', 'it is an address of another node'],
  ["a load balancer's", '10.128.10.7', 'it is an address of load balancers'],
  ['IPv6', '::1', 'only ports of IPv4 addresses are forwarded'],
])('host ports of %s', (_, hostIP, why) => {
  const ports = [{ containerPort: 80, hostPort: 8080, ...(hostIP === undefined ? {} : { hostIP }) }];
  const spec = { containers: [container('main'), container('web', { ports })] };
  const message = `this node cannot forward host port 8080 of container web at hostIP ${hostIP}: ${why}`;
  expect(hostPortRejection(pod(spec), ADDRESSES)).toEqual(
    why === undefined ? undefined : { reason: 'HostPortNotSupported', message },
  );
  expect(hostPortRejection(pod({ ...spec, hostNetwork: true }), ADDRESSES)).toBeUndefined();
});

it('an address without a host port asks for nothing; a sidecar may ask for one', () => {
  const ports = [{ containerPort: 80, hostIP: '::1' }];
  expect(hostPortRejection(pod({ containers: [container('main', { ports })] }), ADDRESSES)).toBeUndefined();
  const sidecar = container('side', {
    restartPolicy: 'Always',
    ports: [{ containerPort: 80, hostPort: 80, hostIP: '::1' }],
  });
  expect(
    hostPortRejection(pod({ containers: [container('main')], initContainers: [sidecar] }), ADDRESSES)?.reason,
  ).toBe('HostPortNotSupported');
});
