import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { tlsPairFault } from './tls-pair.ts';

const pem = (type: string, body = 'dGVzdA==') =>
  Buffer.from(`-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`);
/** A key and its own certificate, of a day long past. */
const KEY = pem(
  'EC PRIVATE KEY',
  'MHcCAQEEINdvbXZFtKzOFRg0oz7rZ4v1CHeese3fGssRpbeew3huoAoGCCqGSM49AwEHoUQDQgAEJs2bbEabn8DhQ/9x2aOiTnfYX/ndgi+F6xck+TwAU6tKLdw6MjevGKU9VTwh5OhSRIw6CfTeYy4YIgzLu3HJew==',
);
const CERTIFICATE = pem(
  'CERTIFICATE',
  'MIIBVTCB+6ADAgECAhQStVxPG6aw3L2TIrsk6LpOM9wtGzAKBggqhkjOPQQDAjAAMB4XDTI2MTEyMTIwMTAyMVoXDTI2MTEyMjIwMTAyMVowADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCbNm2xGm5/A4UP/cdmjok532F/53YIvhesXJPk8AFOrSi3cOjI3rxilPVU8IeToUkSMOgn03mMuGCIMy7txyXujUzBRMB0GA1UdDgQWBBQrmudh8VEcgWR1IbKHVEIiM88MrTAfBgNVHSMEGDAWgBQrmudh8VEcgWR1IbKHVEIiM88MrTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCzX3qnHIBf42JaXHbEeCODNz3nsHb8FAin+wsjzRjYNgIhAJfkFmN9VaMUHvmPAXJLk0bP1BuishgZqlNksAIG8wYW',
);

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
