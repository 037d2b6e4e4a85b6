import 'reflect-metadata';
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto';
import type { Instant } from '@gantry/base';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** What an agent's certificate is for. */
export type CertificateUse = 'client' | 'serving';

export interface RequestTerms {
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** Signer and usages of each use, as kubelet asks for them. */
export const REQUEST_TERMS: Readonly<Record<CertificateUse, RequestTerms>> = {
  client: {
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
  },
  serving: { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] },
};

/** A new private key, PEM (PKCS #8). */
export async function generateKey(): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

/** A PKCS #10 request, PEM, for `system:node:<node>`; a serving one names the node as its DNS name. */
export async function createRequest(node: string, use: CertificateUse, keyPem: string): Promise<string> {
  const jwk = createPrivateKey(keyPem).export({ format: 'jwk' });
  const privateKey = await webcrypto.subtle.importKey('jwk', jwk, ALGORITHM, true, ['sign']);
  const { kty, crv, x, y } = jwk;
  const publicJwk = { kty, crv, x, y } as webcrypto.JsonWebKey;
  const publicKey = await webcrypto.subtle.importKey('jwk', publicJwk, ALGORITHM, true, ['verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: `O=system:nodes, CN=system:node:${node}`,
    keys: { privateKey, publicKey },
    signingAlgorithm: ALGORITHM,
    extensions: use === 'serving' ? [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: node }])] : [],
  });
  return request.toString('pem');
}

/** When a certificate is to be renewed: after two thirds of its life. Undefined when it is none, or not this key's. */
export function renewalTime(certificatePem: string, keyPem: string): { renewAt: Instant; endsAt: Instant } | undefined {
  try {
    const certificate = new X509Certificate(certificatePem);
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) return undefined;
    const startsAt = Date.parse(certificate.validFrom);
    const endsAt = Date.parse(certificate.validTo);
    return { renewAt: startsAt + ((endsAt - startsAt) * 2) / 3, endsAt };
  } catch {
    // Not a certificate: it is made anew.
    return undefined;
  }
}
