import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type CertificateLife, certificateLife, createRequest } from '@gantry/tls';

/** What an agent's certificate is for. */
export type CertificateUse = 'client' | 'serving';

/** The fields of a CertificateSigningRequest that depend on its use. */
export interface RequestTerms {
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** Signer and usages of each use, the same as kubelet's. */
export const REQUEST_TERMS: Readonly<Record<CertificateUse, RequestTerms>> = {
  client: {
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
  },
  serving: { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] },
};

/** A PKCS #10 request, PEM, for `system:node:<node>`; a serving one has the node's name as its DNS name. */
export function createNodeRequest(node: string, use: CertificateUse, key: string): Promise<string> {
  return createRequest(`O=system:nodes, CN=system:node:${node}`, use === 'serving' ? [node] : [], key);
}

/** The life of a certificate; undefined when it is not a certificate of this key, and a new one is needed. */
export function lifeForKey(certificate: string, key: string): CertificateLife | undefined {
  try {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return undefined;
    return certificateLife(certificate);
  } catch {
    // Not a certificate or not a key.
    return undefined;
  }
}
