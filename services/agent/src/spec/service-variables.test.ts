import type { Service } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { serviceVariables } from './service-variables.ts';

const service = (
  namespace: string,
  name: string,
  clusterIP: string,
  ports: NonNullable<Service['spec']>['ports'],
): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name },
  spec: { clusterIP, ...(ports === undefined ? {} : { ports }) },
});
const API = service('default', 'kubernetes', '10.96.0.1', [{ name: 'https', port: 443 }]);
const of = (namespace: string, services: Service[], spec = {}) =>
  serviceVariables(pod(spec, {}, { namespace }), services);

describe('the variables of Services', () => {
  it('are those that kubelet sets for each of its ports', () => {
    const ports = [
      { name: 'web-ui', port: 80 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ];
    expect(of('shop', [service('shop', 'cart-db', '10.96.0.7', ports)])).toEqual({
      CART_DB_SERVICE_HOST: '10.96.0.7',
      CART_DB_SERVICE_PORT: '80',
      CART_DB_SERVICE_PORT_WEB_UI: '80',
      CART_DB_SERVICE_PORT_DNS: '53',
      CART_DB_PORT: 'tcp://10.96.0.7:80',
      CART_DB_PORT_80_TCP: 'tcp://10.96.0.7:80',
      CART_DB_PORT_80_TCP_PROTO: 'tcp',
      CART_DB_PORT_80_TCP_PORT: '80',
      CART_DB_PORT_80_TCP_ADDR: '10.96.0.7',
      CART_DB_PORT_53_UDP: 'udp://10.96.0.7:53',
      CART_DB_PORT_53_UDP_PROTO: 'udp',
      CART_DB_PORT_53_UDP_PORT: '53',
      CART_DB_PORT_53_UDP_ADDR: '10.96.0.7',
    });
  });

  it('bracket an address of IPv6', () => {
    const found = of('shop', [service('shop', 'a', 'fd00::7', [{ port: 80 }])]);
    expect(found).toMatchObject({ A_PORT: 'tcp://[fd00::7]:80', A_SERVICE_HOST: 'fd00::7' });
  });

  it.each([
    ['a headless one', service('shop', 'a', 'None', [{ port: 80 }])],
    ['one without an address', service('shop', 'a', '', [{ port: 80 }])],
    ['one of another name', { ...service('shop', 'a', '', undefined), spec: { externalName: 'x' } }],
    ['one of another namespace', service('other', 'a', '10.96.0.7', [{ port: 80 }])],
  ])('are none for %s', (_, found) => {
    expect(of('shop', [found])).toEqual({});
  });

  it('are those of the API servers in every namespace, even where a pod wants no others', () => {
    const own = service('shop', 'a', '10.96.0.7', [{ port: 80 }]);
    expect(of('shop', [API, own])).toMatchObject({ KUBERNETES_SERVICE_HOST: '10.96.0.1', A_SERVICE_PORT: '80' });
    const unlinked = of('shop', [API, own], { enableServiceLinks: false });
    expect(unlinked['KUBERNETES_SERVICE_PORT_HTTPS']).toBe('443');
    expect(Object.keys(unlinked).every((name) => name.startsWith('KUBERNETES_'))).toBe(true);
    const sameName = service('shop', 'kubernetes', '10.96.0.9', [{ port: 1 }]);
    expect(of('shop', [sameName, API])).toMatchObject({ KUBERNETES_SERVICE_HOST: '10.96.0.9' });
  });
});
