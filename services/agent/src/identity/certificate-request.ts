import { ENGINE_UNIT, NODE_CLIENT_SIGNER, NODE_USER_PREFIX, NODES_GROUP, SERVING_SIGNER } from '@gantry/objects';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type CertificateLife, certificateLife, createRequest } from '@gantry/tls';

/** The purpose of an agent's certificate. */
export type CertificateUse = 'client' | 'serving';

/** The fields of a CertificateSigningRequest that depend on the certificate's use. */
export interface RequestTerms {
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** Signer and usages of each use, as in the kubelet. */
export const REQUEST_TERMS: Readonly<Record<CertificateUse, RequestTerms>> = {
  client: {
    signerName: NODE_CLIENT_SIGNER,
    usages: ['digital signature', 'client auth'],
  },
  serving: { signerName: SERVING_SIGNER, usages: ['digital signature', 'server auth'] },
};

/** The subject of a certificate. */
export interface NodeSubject {
  readonly node: string;
  /** The name of the node's Docker engine, which the signer includes in the client certificate. */
  readonly engine: string;
}

/**
 * A PKCS #10 request in PEM for `system:node:<node>`. A client certificate contains the engine whose custodian the agent may become. A
 * serving certificate has the node's name as its DNS name.
 */
export function createNodeRequest({ node, engine }: NodeSubject, use: CertificateUse, key: string): Promise<string> {
  const unit = use === 'client' ? `OU=${ENGINE_UNIT}${engine}, ` : '';
  return createRequest(`O=${NODES_GROUP}, ${unit}CN=${NODE_USER_PREFIX}${node}`, use === 'serving' ? [node] : [], key);
}

/** Requirements for a usable certificate. */
export interface CertificateTerms extends Pick<NodeSubject, 'engine'> {
  readonly use: CertificateUse;
  readonly key: string;
  /** The cluster's authority for users, in PEM. It no longer signs serving certificates of agents. */
  readonly authority: Uint8Array;
}

/**
 * The validity of a certificate. Undefined when a new certificate is needed: it does not match the key, is a client certificate for
 * another engine, or is a serving certificate from the authority of users.
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
    // The text is not a certificate or not a key.
    return undefined;
  }
}
