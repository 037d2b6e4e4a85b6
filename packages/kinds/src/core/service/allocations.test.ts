import { describe, expect, it } from 'vitest';
import { type ServiceSpec, cloneJson } from '@gantry/objects';
import { carryServiceAllocations, dropUnusedAllocations } from './allocations.ts';

const OLD: ServiceSpec = {
  type: 'NodePort',
  clusterIP: '10.96.0.9',
  clusterIPs: ['10.96.0.9'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
  externalTrafficPolicy: 'Cluster',
  ports: [
    { name: 'a', port: 80, nodePort: 30001 },
    { name: 'b', port: 81, nodePort: 30002 },
  ],
};

function updated(spec: ServiceSpec): ServiceSpec {
  const out = cloneJson(spec);
  carryServiceAllocations(out, OLD);
  dropUnusedAllocations(out, OLD);
  return out;
}

describe('what was allocated for a service', () => {
  it('is kept when the client does not repeat it', () => {
    const after = updated({
      type: 'NodePort',
      ports: [
        { name: 'b', port: 91 },
        { name: 'c', port: 92 },
      ],
    });
    expect(after).toMatchObject({ clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'] });
    expect(after.ports).toEqual([
      { name: 'b', port: 91, nodePort: 30002 },
      { name: 'c', port: 92 },
    ]);
  });

  it('is not given to a second port', () => {
    const ports = [
      { name: 'a', port: 80 },
      { name: 'x', port: 90, nodePort: 30001 },
    ];
    expect(updated({ type: 'NodePort', ports }).ports?.[0]).toEqual({ name: 'a', port: 80 });
  });

  it('goes with the type that needed it', () => {
    const external = updated({ ...OLD, type: 'ExternalName', externalName: 'example.org' });
    expect(external.clusterIP).toBeUndefined();
    expect(external.ipFamilies).toBeUndefined();
    expect(external.externalTrafficPolicy).toBeUndefined();
    const inside = updated({ ...OLD, type: 'ClusterIP' });
    expect(inside.clusterIP).toBe('10.96.0.9');
    expect(inside.ports?.some((port) => port.nodePort !== undefined)).toBe(false);
  });

  it('is not given to a load balancer that reaches pods by itself', () => {
    const balancer: ServiceSpec = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false };
    expect(updated({ ...balancer, ports: [{ name: 'a', port: 80 }] }).ports).toEqual([{ name: 'a', port: 80 }]);
  });

  it('comes back where one of its two fields was cleared', () => {
    const addresses = { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'] };
    expect(updated({ ...OLD, clusterIP: '' })).toMatchObject(addresses);
    expect(updated({ ...OLD, clusterIPs: [] })).toMatchObject(addresses);
    expect(updated({ ...OLD, clusterIP: '10.96.0.8' }).clusterIPs).toEqual(['10.96.0.8']);
  });

  it('comes back to both ports that had one node port under two protocols', () => {
    const ports = [
      { name: 'a', port: 53, protocol: 'TCP' },
      { name: 'b', port: 54, protocol: 'UDP' },
    ];
    const spec: ServiceSpec = { type: 'NodePort', ports };
    const out = cloneJson(spec);
    carryServiceAllocations(out, { ...spec, ports: ports.map((port) => ({ ...port, nodePort: 30_053 })) });
    expect(out.ports?.map(({ nodePort }) => nodePort)).toEqual([30_053, 30_053]);
  });
});
