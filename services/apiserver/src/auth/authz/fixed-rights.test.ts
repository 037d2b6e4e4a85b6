import { expect, it } from 'vitest';
import { ANONYMOUS, authenticated } from '../authn/identity.ts';
import { fixedPathRight, fixedRight } from './fixed-rights.ts';
import type { Ingress } from '@gantry/objects';
import type { ObjectLookup } from './object-lookup.ts';

it('shows health and version to all, and metrics to services alone', () => {
  const service = authenticated('system:kube-scheduler', ['gantry:services']);
  for (const path of ['/livez', '/readyz/etcd', '/healthz', '/version']) {
    expect(fixedPathRight(ANONYMOUS, 'get', path), path).toBe(true);
    expect(fixedPathRight(ANONYMOUS, 'post', path), path).toBe(false);
  }
  for (const path of ['/versions', '/livezz', '/', '/debug/livez']) {
    expect(fixedPathRight(ANONYMOUS, 'get', path), path).toBe(false);
  }
  expect(fixedPathRight(ANONYMOUS, 'get', '/metrics')).toBe(false);
  expect(fixedPathRight(authenticated('bob', []), 'get', '/metrics')).toBe(false);
  expect(fixedPathRight(service, 'get', '/metrics')).toBe(true);
});

const CONTROLLER = authenticated('system:ingress-controller', ['gantry:services']);
const ingress: Ingress = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { namespace: 'a', name: 'web' },
  spec: { tls: [{ hosts: ['a.example'], secretName: 'tls' }, {}] },
};
const lookup: ObjectLookup = {
  get: () => undefined,
  podsOnNode: () => [],
  ingressesIn: (namespace) => (namespace === 'a' ? [ingress] : []),
  hasExpired: () => false,
};

interface Target {
  readonly group?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
  readonly fieldSelector?: string;
}

function may(verb: string, resource: string, target: Target = {}, user = CONTROLLER): boolean {
  const { group = '', namespace = 'a', name = '', subresource = '', fieldSelector = '' } = target;
  const definition = { group, resource };
  return fixedRight(
    { user, verb, target: { definition, namespace, name, subresource }, object: undefined, fieldSelector },
    lookup,
  );
}

it('lets the ingress controller read Secrets that an Ingress of their namespace names, each by its name', () => {
  const named = { fieldSelector: 'metadata.name=tls' };
  expect(['get', 'list', 'watch'].map((verb) => may(verb, 'secrets', { name: 'tls' }))).toEqual([true, true, true]);
  expect(['list', 'watch'].map((verb) => may(verb, 'secrets', named))).toEqual([true, true]);
  expect(['list', 'watch', 'update', 'create'].map((verb) => may(verb, 'secrets'))).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(may('get', 'secrets', { name: 'other' })).toBe(false);
  expect(may('get', 'secrets', { name: 'tls', namespace: 'b' })).toBe(false);
  expect(may('watch', 'secrets', { ...named, namespace: '' })).toBe(false);
  expect(may('watch', 'secrets', { fieldSelector: 'metadata.name!=tls' })).toBe(false);
  expect(may('update', 'secrets', { name: 'tls' })).toBe(false);
});

it('lets it read what routes come from, and write statuses, Events and a class', () => {
  const networking = { group: 'networking.k8s.io', namespace: '' };
  expect(may('watch', 'ingresses', networking)).toBe(true);
  expect(may('list', 'ingressclasses', networking)).toBe(true);
  expect(may('watch', 'services', { namespace: '' })).toBe(true);
  expect(may('watch', 'endpointslices', { group: 'discovery.k8s.io', namespace: '' })).toBe(true);
  expect(may('update', 'ingresses', { ...networking, namespace: 'a', name: 'web', subresource: 'status' })).toBe(true);
  expect(may('patch', 'ingresses', { ...networking, namespace: 'a', name: 'web', subresource: 'status' })).toBe(true);
  expect(may('create', 'ingressclasses', networking)).toBe(true);
  expect(may('create', 'events')).toBe(true);
  expect(may('update', 'ingresses', { ...networking, namespace: 'a', name: 'web' })).toBe(false);
  expect(may('update', 'ingressclasses', { ...networking, name: 'gantry' })).toBe(false);
  expect(may('get', 'services', { name: 'web', subresource: 'proxy' })).toBe(false);
  expect(may('create', 'services')).toBe(false);
  for (const resource of ['pods', 'configmaps', 'serviceaccounts', 'namespaces'])
    expect(may('list', resource), resource).toBe(false);
});

it('gives these rights to the service alone, whatever other users call themselves', () => {
  for (const groups of [[], ['system:nodes'], ['gantry:apiservers']])
    expect(may('get', 'secrets', { name: 'tls' }, authenticated('system:ingress-controller', groups))).toBe(false);
});
