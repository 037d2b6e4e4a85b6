import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { Secret } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { certificateFor } from '../testing/certificates.ts';
import { readCertificate } from './certificate.ts';

function read(certificate: string, key: string): ReturnType<typeof readCertificate> {
  const data = {
    'tls.crt': Buffer.from(certificate).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  };
  const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data };
  return readCertificate(secret);
}

const good = await certificateFor('a.example');
const other = await certificateFor('b.example');

describe('the certificate of a Secret', () => {
  it('is written anew from what was parsed: nothing else of the text is passed on', () => {
    const chain = `bind :1\n${good.certificate}junk\n${other.certificate}\n\nadd server x\n`;
    const found = read(chain, `junk\n${good.key}\ndel map x\n`);
    if (found.kind !== 'certificate') throw new TypeError(JSON.stringify(found));
    expect(found.pem).toMatch(/^(-----BEGIN [A-Z ]+-----\n([A-Za-z0-9+/=]+\n)+-----END [A-Z ]+-----\n){3}$/);
    expect(new X509Certificate(found.pem).subject).toBe('CN=a.example');
  });

  it.each([
    ['without a certificate', '', good.key, 'it has no tls.crt'],
    ['without a key', good.certificate, '', 'it has no tls.key'],
    ['with another text', 'hello', good.key, 'its tls.crt has no certificate in PEM form'],
    [
      'with a broken certificate',
      '-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----',
      good.key,
      'certificate 1 of its tls.crt cannot be read',
    ],
    [
      'with a broken one in the chain',
      `${good.certificate}-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----`,
      good.key,
      'certificate 2 of its tls.crt cannot be read',
    ],
    [
      'with a broken key',
      good.certificate,
      'hello',
      'its tls.key cannot be read: a PEM key without a passphrase is wanted',
    ],
    [
      "with another one's key",
      good.certificate,
      other.key,
      'its tls.key is not that of the first certificate in tls.crt',
    ],
    ['of endless length', good.certificate.repeat(200), good.key, 'its tls.crt is longer than 24000 bytes'],
  ])('is refused %s', (_, certificate, key, why) => {
    expect(read(certificate, key)).toEqual({ kind: 'unusable', why });
  });

  it.each([
    ['a short RSA key', generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey],
    ['an Ed25519 key', generateKeyPairSync('ed25519').privateKey],
    ['a key on a curve that clients do not know', generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey],
  ])('is refused with %s', (_, key) => {
    expect(read(good.certificate, key.export({ type: 'pkcs8', format: 'pem' }).toString())).toMatchObject({
      why: expect.stringContaining('of a kind that is not served'),
    });
  });
});
