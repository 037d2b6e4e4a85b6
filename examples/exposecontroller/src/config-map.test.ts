import type { ConfigMap, Service } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { changedData, namesServices } from './config-map.ts';
import { parseConfig } from './config.ts';
import { exposureOf } from './exposure.ts';

const service = (name: string, annotations: Record<string, string> = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop', annotations: { 'fabric8.io/expose': 'true', ...annotations } },
  spec: { clusterIP: '10.0.0.1', ports: [{ port: 80, targetPort: 8080 }] },
});
const configMap = (annotations: Record<string, string>, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'web', namespace: 'shop', annotations },
  data,
});
const changed = (of: ConfigMap, services: readonly Service[], text = '') => {
  const config = parseConfig(
    `domain: example.com\napiserver: api.example.com:6443\nconsole-url: http://console\n${text}`,
  );
  return changedData(
    of,
    services.flatMap((one) => exposureOf(one, config) ?? []),
    config,
  );
};
const own = (annotations: Record<string, string>) =>
  Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`expose.config.fabric8.io/${key}`, value]));

describe('the ConfigMap with the name of a Service', () => {
  it.each([
    ['url-key', 'http://web.shop.example.com'],
    ['host-key', 'web.shop.example.com'],
    ['path-key', '/'],
    ['clusterip-key', '10.0.0.1'],
    ['clusterip-port-key', '10.0.0.1:80'],
    ['clusterip-port-if-empty-key', '10.0.0.1:80'],
    ['apiserver-key', 'api.example.com:6443'],
    ['apiserver-url-key', 'https://api.example.com:6443'],
    ['apiserver-protocol-key', 'https'],
    ['console-url-key', 'http://console'],
  ])('gets %s', (annotation, value) =>
    expect(changed(configMap(own({ [annotation]: 'k' })), [service('web')])).toEqual({ k: value }),
  );

  it('keeps what it has, and the values of a Service that is not exposed', () => {
    const annotations = own({ 'url-key': 'k', 'clusterip-port-if-empty-key': 'p' });
    const current = configMap(annotations, { k: 'http://web.shop.example.com', p: 'mine', other: 'x' });
    expect(changed(current, [service('web')])).toEqual({});
    expect(changed(configMap(annotations, { k: 'old' }), [service('web', { 'fabric8.io/expose': 'false' })])).toEqual(
      {},
    );
    expect(changed(configMap(annotations), [service('other')])).toEqual({});
  });

  it('reads keys of the cluster address from the Service as well', () => {
    expect(changed(configMap({}), [service('web', own({ 'clusterip-key': 'ip' }))])).toEqual({ ip: '10.0.0.1' });
  });

  it.each([['Service'], ['ConfigMap']])('replaces lines as config-yaml of the %s says, once', (where) => {
    const yaml = own({
      'config-yaml':
        '- key: conf\n  prefix: "url: "\n  suffix: ";"\n  expression: url\n- {key: conf, prefix: x, expression: nothing}',
    });
    const data = { conf: 'a: b\nurl: old\n' };
    const [of, by] = where === 'Service' ? [{}, yaml] : [yaml, {}];
    const after = { conf: 'a: b\nurl: http://web.shop.example.com;\n' };
    expect(changed(configMap(of, data), [service('web', by)])).toEqual(after);
    expect(changed(configMap(of, after), [service('web', by)])).toEqual({});
  });
});

describe('any ConfigMap', () => {
  const form = (prefix: string) => ({ [`${prefix}.service-key.config.fabric8.io/api`]: 'k, l' });
  const api = service('api', { 'fabric8.io/ingress.path': 'v1/' });
  it.each([
    ['expose', 'http://api.shop.example.com/v1'],
    ['expose-full', 'http://api.shop.example.com/v1/'],
    ['expose-no-path', 'http://api.shop.example.com/'],
    ['expose-no-protocol', 'api.shop.example.com/v1'],
    ['expose-full-no-protocol', 'api.shop.example.com/v1/'],
  ])('gets the form %s', (prefix, value) => {
    expect(namesServices(configMap(form(prefix)))).toEqual(['web', 'api']);
    expect(changed(configMap(form(prefix)), [api])).toEqual({ k: value, l: value });
  });

  it('gets each form from the URL itself, not from another form, and the protocol', () => {
    const annotations = {
      ...form('expose-no-protocol'),
      'expose-full.service-key.config.fabric8.io/api': 'full',
      ...own({ 'url-protocol': 'p' }),
    };
    expect(changed(configMap(annotations), [api], 'tls-acme: true')).toEqual({
      k: 'api.shop.example.com/v1',
      l: 'api.shop.example.com/v1',
      full: 'https://api.shop.example.com/v1/',
      p: 'https',
    });
  });
});
