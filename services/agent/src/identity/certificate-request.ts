import { ENGINE_UNIT, NODE_CLIENT_SIGNER, NODE_USER_PREFIX, NODES_GROUP, SERVING_SIGNER } from '@gantry/objects';
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
    signerName: NODE_CLIENT_SIGNER,
    usages: ['digital signature', 'client auth'],
  },
  serving: { signerName: SERVING_SIGNER, usages: ['digital signature', 'server auth'] },
};

/** Whose certificate it is. */
export interface NodeSubject {
  readonly node: string;
  /** The name of its Docker engine, which the signer binds into the client certificate. */
  readonly engine: string;
}

/**
 * A PKCS #10 request, PEM, for `system:node:<node>`. A client certificate names the engine, whose custodian the agent may become; a
 * serving one has the node's name as its DNS name.
 */
export function createNodeRequest({ node, engine }: NodeSubject, use: CertificateUse, key: string): Promise<string> {
  const unit = use === 'client' ? `OU=${ENGINE_UNIT}${engine}, ` : '';
  return createRequest(`O=${NODES_GROUP}, ${unit}CN=${NODE_USER_PREFIX}${node}`, use === 'serving' ? [node] : [], key);
}

/** What a certificate must fit to be used. */
export interface CertificateTerms extends Pick<NodeSubject, 'engine'> {
  readonly use: CertificateUse;
  readonly key: string;
  /** The cluster's authority, PEM. It certifies users, and servers of agents no more. */
  readonly authority: Uint8Array;
}

/**
 * The life of a certificate; undefined when it is not a certificate of this key, a client's for another engine, or a server's of the
 * authority of users, and a new one is needed.
 */
export function usableLife(certificate: string, terms: CertificateTerms): CertificateLife | undefined {
  try {
    const parsed = new X509Certificate(certificate);
    if (!parsed.checkPrivateKey(createPrivateKey(terms.key))) return undefined;
    const isOfEngine = parsed.subject.split('\n').includes(`OU=${ENGINE_UNIT}${terms.engine}`);
    if (terms.use === 'client' && !isOfEngine) return undefined;
    if (terms.use === 'serving' && parsed.checkIssued(new X509Certificate(terms.authority))) return undefined;
    return certificateLife(certificate);
  } catch {
    // Not a certificate or not a key.
    return undefined;
  }
}
