import { expect, it } from 'vitest';
import type { KubeObject } from '@gantry/objects';
import { findKind } from './registry.ts';

function said(group: string, kind: string, object: object, old?: object): readonly string[] {
  const whole = (part: object) => ({ apiVersion: 'v1', kind, metadata: { name: 'a' }, ...part }) as KubeObject;
  const warnings = findKind(group, 'v1', kind)?.strategy.warnings;
  if (warnings === undefined) throw new Error(`${kind} warns of nothing`);
  return warnings(whole(object), old === undefined ? undefined : whole(old));
}

function saidOfStatus(group: string, kind: string, status: object): readonly string[] {
  const part = findKind(group, 'v1', kind)?.subresources.find(({ name }) => name === 'status');
  return part?.warnings?.({ apiVersion: 'v1', kind, metadata: {}, status } as KubeObject) ?? [];
}

it('warns of a certificate that no server can use', () => {
  const data = { 'tls.crt': 'dg==', 'tls.key': 'dg==' };
  expect(said('', 'Secret', { type: 'kubernetes.io/tls', data })).toEqual([
    'tls: failed to find any PEM data in certificate input',
  ]);
  expect(said('', 'Secret', { type: 'Opaque', data })).toEqual([]);
});

it('warns of an annotation of accounts once', () => {
  const with_ = { metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } } };
  expect(said('', 'ServiceAccount', with_)).toHaveLength(1);
  expect(said('', 'ServiceAccount', with_, {})).toHaveLength(1);
  expect(said('', 'ServiceAccount', with_, with_)).toEqual([]);
});

it('warns of capitals in names of drivers', () => {
  expect(said('resource.k8s.io', 'ResourceSlice', { spec: { driver: 'A.b' } })).toEqual([
    'spec.driver: driver names should be lowercase; "A.b" contains uppercase characters',
  ]);
});

it("warns of pods' names that are no hostnames", () => {
  expect(said('', 'Pod', { metadata: { name: 'a.b' }, spec: { containers: [] } })).toEqual([
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
});

it('reports formats that a definition adds', () => {
  const crd = (format: string) => ({
    spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: { type: 'string', format } } }] },
  });
  const group = 'apiextensions.k8s.io';
  expect(said(group, 'CustomResourceDefinition', crd('x'), crd('y'))).toEqual(['unrecognized format "x"']);
  expect(said(group, 'CustomResourceDefinition', crd('x'), crd('x'))).toEqual([]);
});

it('warns of ambiguous addresses in statuses', () => {
  const fault = (at: string) => expect.stringMatching(new RegExp(`^${at.replace(/[[\].]/g, '\\$&')}: non-standard IP`));
  const ip = '01.2.3.4';
  expect(saidOfStatus('', 'Pod', { podIPs: [{ ip }], hostIPs: [{ ip: '::ffff:1.2.3.4' }] })).toEqual([
    fault('status.podIPs[0].ip'),
    fault('status.hostIPs[0].ip'),
  ]);
  const loadBalancer = { ingress: [{ hostname: 'a' }, { ip }] };
  expect(saidOfStatus('', 'Service', { loadBalancer })).toEqual([fault('status.loadBalancer.ingress[1]')]);
  expect(saidOfStatus('networking.k8s.io', 'Ingress', { loadBalancer })).toEqual([
    fault('status.loadBalancer.ingress[1]'),
  ]);
});
