import { ENDPOINT_SLICES, type EndpointSlice, NODES, type Node, type Service, SERVICES } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createLoadBalancerController } from './controller.ts';

const node: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  status: { addresses: [{ type: 'InternalIP', address: '10.128.12.3' }] },
};
const service = (name: string, port: number): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'a', name },
  spec: { type: 'LoadBalancer', ports: [{ port }], selector: { app: name } },
});

const slice = (of: Service): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'a',
    name: `${of.metadata.name}-1`,
    labels: { 'kubernetes.io/service-name': of.metadata.name ?? '' },
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Service', name: of.metadata.name ?? '', uid: of.metadata.uid ?? '', controller: true },
    ],
  },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.9'] }],
});

const controller = createLoadBalancerController({ podCidr: '10.128.0.0/20' });

describe('the load balancer controller', () => {
  it('gives an address once there are a host and a pod, and takes it back when the Service is deleted', async () => {
    const { clock, client, stop, run, events } = createControllerHarness();
    run([controller]);
    const x = await client.put(SERVICES, service('x', 80));
    await clock.advance(1000);
    const addressOf = (name: string) =>
      client.all(SERVICES).find(({ metadata }) => metadata.name === name)?.status?.loadBalancer?.ingress?.[0]?.ip;
    await client.put(ENDPOINT_SLICES, slice(x));
    await clock.advance(1000);
    expect(addressOf('x')).toBeUndefined();
    expect(events('Service').map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'Warning UnAvailableLoadBalancer',
    ]);
    await client.put(NODES, node);
    await clock.advance(1000);
    expect(addressOf('x')).toBe('10.128.10.0');
    const y = await client.put(SERVICES, service('y', 80));
    await clock.advance(1000);
    expect(addressOf('y')).toBeUndefined();
    await client.put(ENDPOINT_SLICES, slice(y));
    await clock.advance(1000);
    expect(addressOf('y')).toBe('10.128.10.1');
    await client.delete(SERVICES, { namespace: 'a', name: 'x' }, {}, stop.signal);
    await clock.advance(1000);
    expect(client.all(SERVICES).map(({ metadata }) => metadata.name)).toEqual(['y']);
    expect(events('Service').map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`)).toEqual([
      'x UnAvailableLoadBalancer',
      'x EnsuringLoadBalancer',
      'x EnsuredLoadBalancer',
      'y EnsuringLoadBalancer',
      'y EnsuredLoadBalancer',
      'x DeletingLoadBalancer',
      'x DeletedLoadBalancer',
    ]);
  });

  it('reports hosts that come and go, those of a second in one Event', async () => {
    const { clock, client, stop, run, events } = createControllerHarness();
    const x = await client.put(SERVICES, service('x', 80));
    await client.put(ENDPOINT_SLICES, slice(x));
    await client.put(NODES, node);
    run([controller]);
    await clock.advance(5000);
    const reported = async () => {
      await clock.advance(5000);
      return events('Service')
        .map(({ reason, count }) => `${reason} ${count}`)
        .slice(2);
    };
    expect(await reported()).toEqual([]);
    for (const name of ['o', 'p']) await client.put(NODES, { ...node, metadata: { name } });
    expect(await reported()).toEqual(['UpdatedLoadBalancer 1']);
    // These changes add no host: q has an empty status, and only a label of o changes.
    await client.put(NODES, { ...node, metadata: { name: 'q' }, status: {} });
    await client.patch(
      NODES,
      { namespace: '', name: 'o' },
      { merge: { metadata: { labels: { a: 'b' } } } },
      stop.signal,
    );
    expect(await reported()).toEqual(['UpdatedLoadBalancer 1']);
    for (const name of ['n', 'o', 'p']) await client.delete(NODES, { namespace: '', name }, {}, stop.signal);
    expect(await reported()).toEqual(['UpdatedLoadBalancer 1', 'UnAvailableLoadBalancer 1']);
    await client.put(NODES, node);
    expect(await reported()).toEqual(['UpdatedLoadBalancer 2', 'UnAvailableLoadBalancer 1']);
  });

  it('shows the loopback too while a host forwards from it, and no other text of an agent', async () => {
    const { clock, client, stop, run } = createControllerHarness();
    run([controller]);
    const forwarding = (from: string | null) =>
      client.patch(
        NODES,
        { namespace: '', name: 'n' },
        { merge: { metadata: { annotations: { 'gantry.dev/forwarded-from': from } } } },
        stop.signal,
      );
    const ingress = async () => {
      await clock.advance(1000);
      return client.all(SERVICES)[0]?.status?.loadBalancer?.ingress;
    };
    await client.put(NODES, node);
    await client.put(SERVICES, { ...service('x', 80), spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } });
    const own = { ip: '10.128.10.0', ipMode: 'VIP' };
    expect(await ingress()).toEqual([own]);
    await forwarding('127.0.0.1');
    expect(await ingress()).toEqual([own, { ip: '127.0.0.1', ipMode: 'Proxy' }]);
    await forwarding('203.0.113.9');
    expect(await ingress()).toEqual([own]);
    await forwarding('127.0.0.1');
    await ingress();
    await forwarding(null);
    expect(await ingress()).toEqual([own]);
  });

  it('gives Services that come at once different addresses, and without a selector waits for no pod', async () => {
    const { clock, client, run } = createControllerHarness();
    await client.put(NODES, node);
    for (let i = 0; i < 20; i++) {
      await client.put(SERVICES, { ...service(`s${i}`, 80), spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } });
    }
    run([controller]);
    await clock.advance(1000);
    const addresses = client.all(SERVICES).map(({ status }) => status?.loadBalancer?.ingress?.[0]?.ip);
    expect(new Set(addresses).size).toBe(20);
    expect(addresses).not.toContain(undefined);
  });

  it('gives the address of a Service that is gone to one that asks for it', async () => {
    const { clock, client, stop, run } = createControllerHarness();
    run([controller]);
    await client.put(NODES, node);
    const wanting = (name: string): Service => ({
      ...service(name, 80),
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }], loadBalancerIP: '10.128.10.7' },
    });
    await client.put(SERVICES, wanting('x'));
    await clock.advance(1000);
    await client.put(SERVICES, wanting('y'));
    await clock.advance(1000);
    const addressOf = (name: string) =>
      client.all(SERVICES).find(({ metadata }) => metadata.name === name)?.status?.loadBalancer?.ingress?.[0]?.ip;
    expect([addressOf('x'), addressOf('y')]).toEqual(['10.128.10.7', undefined]);
    await client.delete(SERVICES, { namespace: 'a', name: 'x' }, {}, stop.signal);
    await clock.advance(1000);
    expect(addressOf('y')).toBe('10.128.10.7');
  });
});
