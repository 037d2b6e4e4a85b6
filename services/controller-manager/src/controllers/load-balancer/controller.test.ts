import { NODES, type Node, type Service, SERVICES } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { loadBalancerController } from './controller.ts';

const node: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: { addresses: [{ type: 'ExternalIP', address: '192.0.2.1' }] },
};
const service = (name: string, port: number): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'a', name },
  spec: { type: 'LoadBalancer', ports: [{ port }] },
});

describe('the load balancer controller', () => {
  it('gives an address once there is a host, and a port to the next Service when the first one is deleted', async () => {
    const { clock, client, stop, run, events } = createControllerHarness();
    run([loadBalancerController]);
    await client.put(SERVICES, service('x', 80));
    await clock.advance(1000);
    const addressOf = (name: string) =>
      client.all(SERVICES).find(({ metadata }) => metadata.name === name)?.status?.loadBalancer?.ingress?.[0]?.ip;
    expect(addressOf('x')).toBeUndefined();
    expect(events('Service')).toEqual([]);
    await client.put(NODES, node);
    await clock.advance(1000);
    expect(addressOf('x')).toBe('192.0.2.1');
    await client.put(SERVICES, service('y', 80));
    await clock.advance(1000);
    expect(addressOf('y')).toBeUndefined();
    await client.delete(SERVICES, { namespace: 'a', name: 'x' }, {}, stop.signal);
    await clock.advance(1000);
    expect(client.all(SERVICES).map(({ metadata }) => metadata.name)).toEqual(['y']);
    expect(addressOf('y')).toBe('192.0.2.1');
    expect(events('Service').map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`)).toEqual([
      'x EnsuringLoadBalancer',
      'x EnsuredLoadBalancer',
      'y SyncLoadBalancerFailed',
      'x DeletingLoadBalancer',
      'x DeletedLoadBalancer',
      'y EnsuringLoadBalancer',
      'y EnsuredLoadBalancer',
    ]);
  });
});
