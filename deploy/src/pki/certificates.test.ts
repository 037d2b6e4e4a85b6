import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  createAuthority,
  createTokenKeys,
  inspectCertificate,
  isNearItsEnd,
  isPairOf,
  issueCertificate,
  renewAuthority,
} from './certificates.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-01-01T00:00:00Z');
const SPEC = {
  commonName: 'etcd',
  organisations: [],
  dnsNames: ['etcd-0'],
  ipAddresses: [],
  usages: ['server'],
} as const;

test('an authority is renewed in its last third, for the same key: its certificates stay valid', async () => {
  const authority = await createAuthority('test-ca', NOW);
  const issued = await issueCertificate(authority, SPEC, NOW);
  expect(isNearItsEnd(authority.certificate, NOW + 2_400 * DAY_MS)).toBe(false);
  expect(isNearItsEnd(authority.certificate, NOW + 2_500 * DAY_MS)).toBe(true);
  const renewed = await renewAuthority(authority, NOW + 2_500 * DAY_MS);
  expect(renewed.key).toBe(authority.key);
  expect(inspectCertificate(renewed.certificate, issued.certificate, issued.key)).toMatchObject({ state: 'usable' });
  const [before, after] = [authority, renewed].map(({ certificate }) => new X509Certificate(certificate));
  expect(after?.subject).toBe(before?.subject);
  expect(new X509Certificate(issued.certificate).checkIssued(after ?? new X509Certificate(''))).toBe(true);
  expect(isNearItsEnd(renewed.certificate, NOW + 2_500 * DAY_MS)).toBe(false);
});

test('a certificate of another authority is unusable', async () => {
  const [one, other] = [await createAuthority('one', NOW), await createAuthority('other', NOW)];
  const issued = await issueCertificate(one, SPEC, NOW);
  expect(inspectCertificate(other.certificate, issued.certificate, issued.key)).toMatchObject({ state: 'unusable' });
});

test('two keys of a pair belong together, and no others', async () => {
  const [one, other] = [await createTokenKeys(), await createTokenKeys()];
  expect(isPairOf(one.privateKey, one.publicKey)).toBe(true);
  expect(isPairOf(one.privateKey, other.publicKey)).toBe(false);
});
