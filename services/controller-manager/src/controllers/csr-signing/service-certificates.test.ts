import type { CertificateSigningRequest } from '@gantry/objects';
import { expect, it } from 'vitest';
import { planCertificateRequest } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

it('renews a service the certificate of its own name, and of no other service', () => {
  expect(ask('system:kube-scheduler', 'system:kube-scheduler')).toEqual(['approve', 'sign']);
  expect(ask('system:kube-proxy', 'system:kube-proxy')).toEqual(['approve', 'sign']);
  expect(ask('system:kube-proxy', 'system:kube-scheduler')).toEqual(['deny']);
  expect(ask('system:kube-dns', 'system:kube-dns')).toEqual(['approve', 'sign']);
  expect(ask('system:kube-dns', 'system:kube-scheduler')).toEqual(['deny']);
  expect(ask('system:kube-scheduler', 'system:kube-controller-manager')).toEqual(['deny']);
  expect(ask('system:kube-scheduler', 'system:masters')).toEqual(['deny']);
});

it('gives a Node the first certificate of the proxy of its host, and only where hosts may join', () => {
  const nodes = { groups: ['system:nodes'] };
  expect(ask('system:node:b-1', 'system:kube-proxy', { ...nodes, joining: 'allowed' })).toEqual(['approve', 'sign']);
  expect(ask('system:node:b-1', 'system:kube-proxy', { ...nodes, joining: 'refused' })).toEqual(['deny']);
  expect(ask('system:node:b-1', 'system:kube-proxy', { groups: ['system:authenticated'], joining: 'allowed' })).toEqual(
    ['deny'],
  );
  const bootstrappers = { groups: ['system:bootstrappers'], joining: 'allowed' } as const;
  expect(ask('system:bootstrap:abcdef', 'system:kube-proxy', bootstrappers)).toEqual(['deny']);
  expect(ask('system:node:b-1', 'system:kube-dns', { ...nodes, joining: 'allowed' })).toEqual(['deny']);
  expect(ask('system:node:b-1', 'system:kube-controller-manager', { ...nodes, joining: 'allowed' })).toEqual(['deny']);
});

/** The outcome of a request of this user, who is in these groups. */
function ask(
  username: string,
  commonName: string,
  {
    groups = ['gantry:services'],
    joining = 'refused',
  }: { groups?: readonly string[]; joining?: 'allowed' | 'refused' } = {},
): string[] {
  const request: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r', creationTimestamp: '2026-01-01T12:00:00Z' },
    spec: {
      signerName: 'gantry.dev/service',
      request: '',
      username,
      groups: [...groups],
      usages: ['digital signature', 'client auth'],
    },
  };
  const requested = {
    commonName,
    organizations: ['gantry:services'],
    organizationalUnits: [],
    dnsNames: [],
    ipAddresses: [],
    otherNames: 0,
  };
  const { actions } = planCertificateRequest(
    { request, requested, node: undefined },
    {
      firstServiceAddress: '10.96.0.1',
      podCidr: '10.128.0.0/20',
      reservedNames: [],
      servingApproval: 'automatic',
      joining,
    },
    NOW,
  );
  return actions.map(({ kind }) => kind);
}
