import { ENDPOINT_SLICES, type EndpointSlice, NODES, type Node, type Service, SERVICES } from '@gantry/objects';
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

const slice = (of: Service): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'a',
    name: `${of.metadata.name}-1`,
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Service', name: of.metadata.name ?? '', uid: of.metadata.uid ?? '', controller: true },
    ],
  },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.9'] }],
});

describe('the load balancer controller', () => {
  it('gives an address once there are a host and a pod, and a port to the next Service when the first one is deleted', async () => {
    const { clock, client, stop, run, events } = createControllerHarness();
    run([loadBalancerController]);
    const x = await client.put(SERVICES, service('x', 80));
    await clock.advance(1000);
    const addressOf = (name: string) =>
      client.all(SERVICES).find(({ metadata }) => metadata.name === name)?.status?.loadBalancer?.ingress?.[0]?.ip;
    expect(addressOf('x')).toBeUndefined();
    expect(events('Service')).toEqual([]);
    await client.put(NODES, node);
    await clock.advance(1000);
    expect(addressOf('x')).toBeUndefined();
    await client.put(ENDPOINT_SLICES, slice(x));
    await clock.advance(1000);
    expect(addressOf('x')).toBe('192.0.2.1');
    await client.put(ENDPOINT_SLICES, slice(await client.put(SERVICES, service('y', 80))));
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
