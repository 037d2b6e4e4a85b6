import { errorsOf } from '@gantry/apimachinery';
import { must } from '@gantry/base';
import type { CertificateSigningRequest } from '@gantry/objects';
import { expect, it } from 'vitest';
import { CERTIFICATE, pem } from '../testing/example-certificate.ts';
import { certificateSigningRequests } from './certificate-signing-request.ts';

const NO_PEM = Buffer.from('no PEM blocks');
const der = Buffer.from(CERTIFICATE.toString().split('\n')[1] ?? '', 'base64');
const withHeader = CERTIFICATE.toString().replace('-----\n', '-----\nKey: value\n');

const request = (certificate: Buffer): CertificateSigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'a' },
  spec: { request: '', signerName: 'example.com/a' },
  status: { certificate: certificate.toString('base64') },
});

/** Messages for stored certificates. */
function faults(certificate: Buffer, old: Buffer = Buffer.alloc(0)): readonly string[] {
  const status = must(
    certificateSigningRequests.subresources.find(({ name }) => name === 'status'),
    'status',
  );
  return errorsOf(status.validateUpdate?.(request(certificate), request(old))).map(
    ({ field, detail }) => `${field}: ${detail}`,
  );
}

it.each<[string, Buffer]>([
  ['no certificate', Buffer.alloc(0)],
  ['a certificate', CERTIFICATE],
  ['a chain, with text between', Buffer.concat([CERTIFICATE, Buffer.from('issuer:\n'), CERTIFICATE])],
  ['several in one block', pem('CERTIFICATE', Buffer.concat([der, der]).toString('base64'))],
])('a status may have %s', (_, certificate) => {
  expect(faults(certificate)).toEqual([]);
});

it.each<[string, Buffer, string]>([
  ['no PEM', NO_PEM, 'must contain at least one CERTIFICATE PEM block'],
  ['a key', pem('EC PRIVATE KEY'), 'only CERTIFICATE PEM blocks are allowed, found "EC PRIVATE KEY"'],
  [
    'a key behind a certificate',
    Buffer.concat([CERTIFICATE, pem('X')]),
    'only CERTIFICATE PEM blocks are allowed, found "X"',
  ],
  ['headers', Buffer.from(withHeader), 'no PEM block headers are permitted'],
  ['an empty block', pem('CERTIFICATE', ''), 'found CERTIFICATE PEM block containing 0 certificates'],
  ['what is no certificate', pem('CERTIFICATE'), 'x509: malformed certificate'],
  [
    'bytes behind a certificate',
    pem('CERTIFICATE', Buffer.concat([der, Buffer.from('x')]).toString('base64')),
    'x509: malformed certificate',
  ],
])('a status may not have %s', (_, certificate, fault) => {
  expect(faults(certificate)).toEqual([`status.certificate: ${fault}`]);
});

it('an object that has a wrong certificate can still be changed', () => {
  expect(faults(NO_PEM, NO_PEM)).toEqual([]);
});
