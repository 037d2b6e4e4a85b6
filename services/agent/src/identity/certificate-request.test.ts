import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { systemClock } from '@gantry/base';
import { generateKey } from '@gantry/tls';
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { type CertificateTerms, createNodeRequest, usableLife } from './certificate-request.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 3_600_000;
const SUBJECT = { node: 'host-1', engine: 'abcd' };

x509.cryptoProvider.set(webcrypto);

/** Creates an authority that signs every request. */
async function createAuthority(name: string) {
  const now = systemClock.now();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(now - HOUR_MS), notAfter: new Date(now + HOUR_MS) };
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  const sign = async (pem: string) => {
    const request = new x509.Pkcs10CertificateRequest(pem);
    const certificate = await x509.X509CertificateGenerator.create({
      subject: request.subject,
      issuer: own.subject,
      ...validity,
      publicKey: await request.publicKey.export(ALGORITHM, ['verify']),
      signingKey: keys.privateKey,
      signingAlgorithm: ALGORITHM,
    });
    return certificate.toString('pem');
  };
  return { pem: Buffer.from(own.toString('pem')), sign };
}

describe('a node’s certificate', () => {
  it('names the engine where it is for a client, and the node where it is for a server', async () => {
    const key = await generateKey();
    const client = new x509.Pkcs10CertificateRequest(await createNodeRequest(SUBJECT, 'client', key));
    expect(client.subject).toBe('O=system:nodes, OU=gantry:engine:abcd, CN=system:node:host-1');
    const serving = new x509.Pkcs10CertificateRequest(await createNodeRequest(SUBJECT, 'serving', key));
    expect(serving.subject).toBe('O=system:nodes, CN=system:node:host-1');
  });

  it('is usable for its key, its engine, and of the authority of its use', async () => {
    const [users, servers] = [await createAuthority('users'), await createAuthority('servers')];
    const key = await generateKey();
    const client = await users.sign(await createNodeRequest(SUBJECT, 'client', key));
    const terms: CertificateTerms = { use: 'client', engine: 'abcd', key, authority: users.pem };
    expect(usableLife(client, terms)).toBeDefined();
    expect(usableLife(client, { ...terms, engine: 'abc' })).toBeUndefined();
    expect(usableLife(client, { ...terms, key: await generateKey() })).toBeUndefined();
    expect(usableLife('no certificate', terms)).toBeUndefined();

    const request = await createNodeRequest(SUBJECT, 'serving', key);
    const serving: CertificateTerms = { ...terms, use: 'serving' };
    expect(usableLife(await servers.sign(request), serving)).toBeDefined();
    expect(usableLife(await users.sign(request), serving)).toBeUndefined();
  });
});
