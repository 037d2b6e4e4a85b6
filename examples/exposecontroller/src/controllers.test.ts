import { CONFIG_MAPS, type ConfigMap, INGRESSES, type Service, SERVICES } from '@gantry/operator';
import { type ObjectsReader, simulate, type Step } from '@gantry/operator/testing';
import { expect, test } from 'vitest';
import { parseConfig } from './config.ts';
import { exposeControllers } from './controllers.ts';

const namespace = 'shop';
const exposed = { 'fabric8.io/expose': 'true' };
const service = (name: string, annotations: Record<string, string>): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, annotations },
  // Without an address of its own: those are random, and the ends of histories are compared.
  spec: { clusterIP: 'None', selector: { app: name }, ports: [{ port: 80 }] },
});
const annotate = (name: string, annotations: Record<string, string | null>): Step => {
  return (client, signal) =>
    client.patch(SERVICES, { namespace, name }, { merge: { metadata: { annotations } } }, signal);
};
const settings: ConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace, annotations: { 'expose.service-key.config.fabric8.io/web': 'web' } },
  data: { other: 'x' },
};
const foreign = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'taken', namespace },
  spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
};

test('each history ends with an Ingress for what is exposed, its URLs, and nothing else', async () => {
  let last: ObjectsReader | undefined;
  const config = parseConfig('domain: example.com');
  const report = await simulate({
    operator: () => ({ name: 'exposecontroller', controllers: exposeControllers(config) }),
    objects: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      foreign,
      service('web', exposed),
      service('static', { ...exposed, 'fabric8.io/ingress.name': 'web', 'fabric8.io/ingress.path': '/static' }),
      service('old', { ...exposed, 'fabric8.io/exposeHostNameAs': 'example.com/host' }),
      service('gone', exposed),
      service('taken', exposed),
      service('inner', { 'fabric8.io/exposeUrl': 'http://written.by.hand' }),
      settings,
    ],
    steps: [
      annotate('old', { 'fabric8.io/expose': null }),
      annotate('web', { 'fabric8.io/ingress.annotations': 'a: b', 'fabric8.io/host.name': 'www' }),
      (client, signal) => client.delete(SERVICES, { namespace, name: 'gone' }, {}, signal),
      annotate('web', { 'fabric8.io/ingress.annotations': null }),
    ],
    invariant: (objects) => {
      last = objects;
      const taken = objects.all(INGRESSES).find(({ metadata }) => metadata.name === 'taken');
      const isLeft = taken?.metadata.generation === 1 && taken.spec?.defaultBackend !== undefined;
      // It was created before the Services.
      return objects.all(SERVICES).length > 0 && !isLeft ? 'an Ingress of somebody else was changed' : undefined;
    },
    seeds: 60,
  });
  expect(report.text).toBe('');
  const ingresses = last?.all(INGRESSES) ?? [];
  expect(ingresses.map(({ metadata }) => metadata.name).sort()).toEqual(['taken', 'web']);
  expect(ingresses.find(({ metadata }) => metadata.name === 'web')).toMatchObject({
    metadata: { annotations: { 'fabric8.io/generated-by': 'exposecontroller' } },
    spec: { rules: [{ host: 'web.shop.example.com' }, { host: 'www.shop.example.com' }] },
  });
  const urls = (last?.all(SERVICES) ?? []).map(({ metadata }) => [
    metadata.name,
    metadata.annotations?.['fabric8.io/exposeUrl'],
  ]);
  expect(Object.fromEntries(urls)).toEqual({
    web: 'http://www.shop.example.com',
    static: 'http://web.shop.example.com/static',
    old: undefined,
    taken: 'http://taken.shop.example.com',
    inner: 'http://written.by.hand',
  });
  const named = <T extends { metadata: { name?: string } }>(of: readonly T[], name: string) =>
    of.find(({ metadata }) => metadata.name === name)?.metadata;
  expect(named(last?.all(SERVICES) ?? [], 'old')).toMatchObject({
    annotations: { 'fabric8.io/exposeHostNameAs': 'example.com/host' },
  });
  expect(Object.keys(named(ingresses, 'web') ?? {})).toContain('ownerReferences');
  expect(last?.all(CONFIG_MAPS).find(({ metadata }) => metadata.name === 'settings')?.data).toEqual({
    other: 'x',
    web: 'http://www.shop.example.com',
  });
});
