import type { CertificateSigningRequest } from '@gantry/objects';
import { expect, it } from 'vitest';
import { planCertificateRequest } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

it('renews a service the certificate of its own name, and of no other service', () => {
  const ask = (username: string, commonName: string) => {
    const request: CertificateSigningRequest = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'r', creationTimestamp: '2026-01-01T12:00:00Z' },
      spec: {
        signerName: 'gantry.dev/service',
        request: '',
        username,
        groups: ['gantry:services'],
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
      { firstServiceAddress: '10.96.0.1', reservedNames: [], servingApproval: 'automatic' },
      NOW,
    );
    return actions.map(({ kind }) => kind);
  };
  expect(ask('system:kube-scheduler', 'system:kube-scheduler')).toEqual(['approve', 'sign']);
  expect(ask('system:kube-proxy', 'system:kube-proxy')).toEqual(['approve', 'sign']);
  expect(ask('system:kube-proxy', 'system:kube-scheduler')).toEqual(['deny']);
  expect(ask('system:kube-dns', 'system:kube-dns')).toEqual(['approve', 'sign']);
  expect(ask('system:kube-dns', 'system:kube-scheduler')).toEqual(['deny']);
  expect(ask('system:kube-scheduler', 'system:kube-controller-manager')).toEqual(['deny']);
  expect(ask('system:kube-scheduler', 'system:masters')).toEqual(['deny']);
});
