import type { Service } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { parseConfig } from './config.ts';
import { exposureOf } from './exposure.ts';
import { ingressFor } from './ingress.ts';

const key = { namespace: 'shop', name: 'web' };
const service = (name: string, annotations: Record<string, string> = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    namespace: 'shop',
    uid: `uid-${name}`,
    annotations: { 'fabric8.io/expose': 'true', 'fabric8.io/ingress.name': 'web', ...annotations },
  },
  spec: { ports: [{ port: 80 }] },
});
const ingress = (text: string, ...services: Service[]) => {
  const config = parseConfig(`domain: example.com\n${text}`);
  return ingressFor(
    key,
    services.flatMap((one) => exposureOf(one, config) ?? []),
    config,
  );
};
const backend = (name: string) => ({ service: { name, port: { number: 80 } } });

describe('the Ingress', () => {
  it('of one Service', () => {
    const path = { path: '/', pathType: 'ImplementationSpecific', backend: backend('web') };
    expect(ingress('', service('web'))).toEqual({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: {
        ...key,
        labels: { provider: 'fabric8' },
        annotations: { 'fabric8.io/generated-by': 'exposecontroller' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'uid-web' }],
      },
      spec: { rules: [{ host: 'web.shop.example.com', http: { paths: [path] } }] },
    });
  });

  it('of several Services has all their paths, the longest first, in any order of the Services', () => {
    const services = [
      service('a'),
      service('b', { 'fabric8.io/ingress.path': '/b' }),
      service('c', { 'fabric8.io/host.name': 'c' }),
    ];
    const { spec, metadata } = ingress('', ...services);
    expect(spec?.rules).toMatchObject([
      { host: 'c.shop.example.com', http: { paths: [{ path: '/', backend: backend('c') }] } },
      {
        host: 'web.shop.example.com',
        http: {
          paths: [
            { path: '/b', backend: backend('b') },
            { path: '/', backend: backend('a') },
          ],
        },
      },
    ]);
    expect(metadata.ownerReferences?.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(ingress('', ...services.toReversed()).spec).toEqual(spec);
  });

  it.each([
    ['tls-acme: true', 'tls-web', ['web.shop.example.com']],
    ['tls-secret-name: mine', 'mine', ['web.shop.example.com']],
    ['tls-secret-name: mine\ntls-use-wildcard: true', 'mine', ['*.example.com']],
  ])('with %j has a certificate', (text, secretName, hosts) =>
    expect(ingress(text, service('web')).spec?.tls).toEqual([{ hosts, secretName }]),
  );

  it('without TLS has none', () => {
    expect(ingress('tls-acme: true', service('web', { 'jenkins-x.io/skip.tls': 'true' })).spec?.tls).toBeUndefined();
  });

  it('has the annotations of its class and of the Service, but not another origin', () => {
    const text =
      '\n# comment\nnginx.ingress.kubernetes.io/rewrite-target: /a:b \nnonsense\nfabric8.io/generated-by: me';
    const { annotations } = ingress(
      'ingress-class: fast\ntls-acme: true',
      service('web', { 'fabric8.io/ingress.annotations': text }),
    ).metadata;
    expect(annotations).toEqual({
      'kubernetes.io/ingress.class': 'fast',
      'nginx.ingress.kubernetes.io/ingress.class': 'fast',
      'kubernetes.io/tls-acme': 'true',
      'nginx.ingress.kubernetes.io/rewrite-target': '/a:b',
      'fabric8.io/generated-by': 'exposecontroller',
    });
    expect(ingress('path-mode: path', service('web')).metadata.annotations).toMatchObject({
      'kubernetes.io/ingress.class': 'nginx',
    });
  });
});
