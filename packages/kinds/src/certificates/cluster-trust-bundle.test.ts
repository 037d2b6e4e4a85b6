import { X509Certificate } from 'node:crypto';
import { validateChange, validateNew } from '@gantry/apimachinery';
import { type ClusterTrustBundle, formatFieldError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE, KEY, pem } from '../testing/example-certificate.ts';
import { clusterTrustBundles } from './cluster-trust-bundle.ts';

const ANCHOR = CERTIFICATE.toString();
const OMITTED = 'spec.trustBundle: Invalid value: "<value omitted>":';
const body = ANCHOR.split('\n')[1] ?? '';

const bundle = (name: string, spec: ClusterTrustBundle['spec']): ClusterTrustBundle => ({
  apiVersion: 'certificates.k8s.io/v1beta1',
  kind: 'ClusterTrustBundle',
  metadata: { name },
  spec,
});
const said = (name: string, spec: ClusterTrustBundle['spec']) =>
  validateNew(clusterTrustBundles, bundle(name, spec)).map((error) => `${error.field}: ${formatFieldError(error)}`);

describe('a bundle of trust anchors', () => {
  it('has certificates of authorities, of a signer or of none', () => {
    expect(new X509Certificate(CERTIFICATE).ca).toBe(true);
    expect(said('roots', { trustBundle: `before\n${ANCHOR}after\n` })).toEqual([]);
    expect(said('example.com:signer:v1', { signerName: 'example.com/signer', trustBundle: ANCHOR })).toEqual([]);
  });

  it.each<[string, string, readonly string[]]>([
    ['no certificate', 'text', [`${OMITTED} at least one trust anchor must be provided`]],
    ['another block', KEY.toString(), [`${OMITTED} entry 0 has bad block type: EC PRIVATE KEY`]],
    [
      'headers',
      `${ANCHOR}-----BEGIN CERTIFICATE-----\nA: b\n\n${body}\n-----END CERTIFICATE-----\n`,
      [`${OMITTED} entry 1 has PEM block headers`],
    ],
    ['what is none', pem('CERTIFICATE').toString(), [`${OMITTED} entry 0 does not parse as X.509`]],
    ['a certificate twice', `${ANCHOR}${ANCHOR}`, [`${OMITTED} duplicate trust anchor (indices [0 1])`]],
    ['too much', 'x'.repeat(1024 * 1024 + 1), ['spec.trustBundle: Too long: may not be more than 1048576 bytes']],
  ])('is refused with %s', (_, trustBundle, errors) => {
    expect(said('roots', { trustBundle })).toEqual(errors);
  });

  it.each<[string, string | undefined, string]>([
    ['a:b', undefined, 'ClusterTrustBundle without signer name must not have ":" in its name'],
    [
      'roots',
      'example.com/signer',
      'ClusterTrustBundle for signerName example.com/signer must be named with prefix example.com:signer:',
    ],
    ['example.com:signer:', 'example.com/signer', 'a lowercase RFC 1123 subdomain must consist of'],
    ['Roots', undefined, 'a lowercase RFC 1123 subdomain must consist of'],
    ['signer:v1', 'signer', "must be a fully qualified domain and path of the form 'example.com/signer-name'"],
  ])('has a name that says its signer: %s of %s', (name, signerName, message) => {
    const spec = { trustBundle: ANCHOR, ...(signerName === undefined ? {} : { signerName }) };
    expect(said(name, spec)).toEqual([expect.stringContaining(message)]);
  });

  it('keeps its signer', () => {
    const stored = (spec: Partial<ClusterTrustBundle['spec']>) => {
      const made = bundle('example.com:signer:v1', { trustBundle: ANCHOR, ...spec });
      made.metadata = { ...made.metadata, uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
      return made;
    };
    const errors = validateChange(clusterTrustBundles, stored({}), stored({ signerName: 'example.com/signer' }));
    expect(errors.map((error) => error.field)).toEqual(['spec.signerName']);
  });
});
