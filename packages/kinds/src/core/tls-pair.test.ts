import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { CERTIFICATE, KEY, pem } from '../testing/example-certificate.ts';
import { tlsPairFault } from './tls-pair.ts';

const key = (kind: 'ec' | 'ed25519') => {
  const pair = kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  return Buffer.from(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
};

it.each([
  ['v', 'v', 'tls: failed to find any PEM data in certificate input'],
  [
    pem('RSA PRIVATE KEY'),
    'v',
    'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
  ],
  [
    pem('X'),
    'v',
    'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [X]',
  ],
  [pem('CERTIFICATE'), 'v', 'tls: failed to find any PEM data in key input'],
  [pem('CERTIFICATE'), pem('CERTIFICATE'), 'tls: found a certificate rather than a key in the PEM for the private key'],
  [
    pem('CERTIFICATE'),
    Buffer.concat([pem('X'), pem('Y')]),
    'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [X Y]',
  ],
  [pem('CERTIFICATE'), pem('PRIVATE KEY'), 'x509: malformed certificate'],
  [CERTIFICATE, pem('PRIVATE KEY'), 'tls: failed to parse private key'],
  [CERTIFICATE, key('ec'), 'tls: private key does not match public key'],
  [CERTIFICATE, key('ed25519'), 'tls: private key type does not match public key type'],
  [CERTIFICATE, KEY, undefined],
])('says why %s and %s are of no use', (certificate, privateKey, fault) => {
  expect(tlsPairFault(Buffer.from(certificate), Buffer.from(privateKey))).toBe(fault);
});

it.each([
  ['begins without an end', '-----BEGIN X-----\n'.repeat(58_000)],
  ['has a header without an end', `-----BEGIN X-----\n${'a:'.repeat(500_000)}-----END X-----\n`],
])('is not held up by what %s', (_, hostile) => {
  const fault = 'tls: failed to find any PEM data in certificate input';
  expect(tlsPairFault(Buffer.from(hostile), KEY)).toBe(fault);
});

it('passes over the headers of a key', () => {
  const [begin = '', ...rest] = KEY.toString().split('\n');
  const withHeaders = [begin, 'Proc-Type: 4', 'X: y', '', ...rest].join('\n');
  expect(tlsPairFault(CERTIFICATE, Buffer.from(withHeaders))).toBeUndefined();
});
