import type { Service } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { parseConfig } from './config.ts';
import { exposureAnnotations, exposureOf, ingressNameOf } from './exposure.ts';

const service = (annotations: Record<string, string>, labels: Record<string, string> = {}, name = 'web'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop', annotations, labels },
  spec: { ports: [{ port: 80 }, { port: 8443 }] },
});
const exposed = { 'fabric8.io/expose': 'true' };
const config = (text = '') => parseConfig(`domain: example.com\ninternal-domain: corp.example\n${text}`);
const of = (annotations: Record<string, string>, text?: string) =>
  exposureOf(service({ ...exposed, ...annotations }), config(text));

describe('a Service is exposed', () => {
  it.each([
    ['by the label', service({}, { expose: 'true' }), '', true],
    ['by fabric8.io/expose', service(exposed), '', true],
    ['by fabric8.io/inject', service({ 'fabric8.io/inject': 'true' }), '', true],
    ['not by another value', service({ 'fabric8.io/expose': 'yes' }, { expose: 'false' }), '', false],
    ['if `services` has it', service(exposed), 'services: [web, api]', true],
    ['not if `services` lacks it', service(exposed), 'services: [api]', false],
    ['not without a port', { ...service(exposed), spec: {} }, '', false],
    [
      'not while it is deleted',
      { ...service(exposed), metadata: { ...service(exposed).metadata, deletionTimestamp: 'now' } },
      '',
      false,
    ],
  ])('%s', (_, of, text, is) => expect(exposureOf(of, config(text)) !== undefined).toBe(is));
});

describe('the URL', () => {
  it.each([
    [{}, '', 'http://web.shop.example.com'],
    [{ 'fabric8.io/ingress.name': 'front' }, '', 'http://front.shop.example.com'],
    [{ 'fabric8.io/ingress.name': 'front', 'fabric8.io/host.name': 'www' }, '', 'http://www.shop.example.com'],
    [{ 'fabric8.io/use.internal.domain': 'true' }, '', 'http://web.shop.corp.example'],
    [{ 'fabric8.io/ingress.path': 'a/b' }, '', 'http://web.shop.example.com/a/b'],
    [{ 'api.service.kubernetes.io/path': '/v1' }, '', 'http://web.shop.example.com/v1'],
    [{ 'fabric8.io/path.mode': 'path' }, '', 'http://example.com/shop/web/'],
    [{ 'fabric8.io/ingress.path': '/a' }, 'path-mode: path', 'http://example.com/shop/web/a'],
    [{}, 'tls-acme: true', 'https://web.shop.example.com'],
    [{}, 'tls-secret-name: mine', 'https://web.shop.example.com'],
    [{}, 'tls-acme: true\nhttp: true', 'http://web.shop.example.com'],
    [{ 'jenkins-x.io/skip.tls': 'true' }, 'tls-acme: true', 'http://web.shop.example.com'],
  ])('with %j and %j is %s', (annotations, text, url) =>
    expect(of(annotations as Record<string, string>, text)?.url).toBe(url),
  );
});

it.each([
  ['8443', 8443],
  ['9999', 80],
  ['http', 80],
])('port %s is %i: another one than those of the Service counts for nothing', (port, found) =>
  expect(of({ 'fabric8.io/exposePort': port })?.port).toBe(found),
);

it.each([
  ['prod-web', 'prod', 'web'],
  ['web-prod-web', 'prod', 'web-prod-web'],
  ['web', '', 'web'],
])('the Ingress of %s in release %j is %s', (name, release, found) =>
  expect(ingressNameOf(service({}, { release }, name))).toBe(found),
);

it('writes the URL, and the host under the name that the Service asks for', () => {
  const exposure = of({ 'fabric8.io/exposeHostNameAs': 'example.com/host' });
  expect(exposure === undefined ? {} : exposureAnnotations(exposure)).toEqual({
    'fabric8.io/exposeUrl': 'http://web.shop.example.com',
    'example.com/host': 'web.shop.example.com',
  });
});
