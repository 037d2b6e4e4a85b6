import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { systemClock } from '@gantry/base';
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { certificateLife } from './certificate-life.ts';
import { createRenewalRequest, createRequest, generateKey } from './requests.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 3_600_000;
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

x509.cryptoProvider.set(webcrypto);

/** The parts of a request that a signer reads. */
async function read(pem: string) {
  const request = new x509.Pkcs10CertificateRequest(pem);
  const extension = request.getExtension(SUBJECT_ALTERNATIVE_NAME);
  const names = extension === null ? [] : new x509.SubjectAlternativeNameExtension(extension.rawData).names.toJSON();
  return { subject: request.subject, names: names.map(({ value }) => value), isSigned: await request.verify() };
}

/** A certificate for a request, valid for six hours from three hours ago. */
async function sign(pem: string, now: number): Promise<string> {
  const request = new x509.Pkcs10CertificateRequest(pem);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: request.subject,
    issuer: 'CN=test-ca',
    notBefore: new Date(now - 3 * HOUR_MS),
    notAfter: new Date(now + 3 * HOUR_MS),
    publicKey: await request.publicKey.export(ALGORITHM, ['verify']),
    signingKey: keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: request.extensions,
  });
  return certificate.toString('pem');
}

describe('certificate requests', () => {
  it('have the subject and names, and are signed with the key', async () => {
    const request = await createRequest('O=system:nodes, CN=system:node:a', ['a'], await generateKey());
    expect(await read(request)).toEqual({ subject: 'O=system:nodes, CN=system:node:a', names: ['a'], isSigned: true });
  });

  it('repeat subject and names of the certificate that they renew', async () => {
    const first = await createRequest('CN=scheduler', ['scheduler', 'localhost'], await generateKey());
    const certificate = await sign(first, systemClock.now());
    const { request, subject } = await createRenewalRequest(certificate, await generateKey());
    expect(subject).toBe('CN=scheduler');
    expect(await read(request)).toEqual({ subject, names: ['scheduler', 'localhost'], isSigned: true });
  });
});

describe('the life of a certificate', () => {
  it('asks for a renewal after two thirds of it', async () => {
    const now = Math.floor(systemClock.now() / 1000) * 1000;
    const certificate = await sign(await createRequest('CN=a', [], await generateKey()), now);
    expect(certificateLife(certificate)).toEqual({ renewAt: now + HOUR_MS, endsAt: now + 3 * HOUR_MS });
  });

  it('throws for other text', () => {
    expect(() => certificateLife('no certificate')).toThrow();
  });
});
