import type { EndpointSlice, Endpoints, Service } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { resolveService, type ServiceObjects } from './resolve-service.ts';

const metadata = { name: 's', namespace: 'n' };
const service = (spec: object): Service => ({ apiVersion: 'v1', kind: 'Service', metadata, spec });
const slice = (port: number, endpoints: object[], name = 'https'): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata,
  addressType: 'IPv4',
  ports: [{ name, port }],
  endpoints: endpoints as NonNullable<EndpointSlice['endpoints']>,
});
const objects = (of: Partial<{ service: Service; slices: EndpointSlice[]; endpoints: Endpoints }>): ServiceObjects => ({
  service: () => of.service,
  slices: () => of.slices ?? [],
  endpoints: () => of.endpoints,
});
const plain = service({ ports: [{ name: 'https', port: 443 }] });
const resolve = (of: ServiceObjects, port = 443) => resolveService(of, { ...metadata, port }, () => 0);

describe('the address behind a service', () => {
  it('is that of a ready endpoint of a slice with the port', () => {
    const slices = [
      slice(1, [{ addresses: ['10.0.0.9'] }], 'other'),
      slice(2, [{ addresses: ['10.0.0.1'], conditions: { ready: false } }]),
      slice(3, [{ addresses: ['10.0.0.2'], conditions: { ready: true } }, { addresses: ['10.0.0.3'] }]),
    ];
    expect(resolve(objects({ service: plain, slices }))).toEqual({ host: '10.0.0.2', port: 3 });
  });

  it('comes from Endpoints while there are no slices, and from the external name', () => {
    const subsets = [{ addresses: [{ ip: '10.0.0.4' }], ports: [{ name: 'https', port: 5 }] }];
    const endpoints: Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets };
    expect(resolve(objects({ service: plain, endpoints }))).toEqual({ host: '10.0.0.4', port: 5 });
    const external = service({ type: 'ExternalName', externalName: 'a.example.org' });
    expect(resolve(objects({ service: external }), 9443)).toEqual({ host: 'a.example.org', port: 9443 });
  });

  it('is missing with a reason', () => {
    expect(() => resolve(objects({}))).toThrow('service "s" not found');
    expect(() => resolve(objects({ service: plain }), 80)).toThrow('no service port 80 found for service "s"');
    expect(() => resolve(objects({ service: plain }))).toThrow('no endpoints available for service "s"');
  });
});
