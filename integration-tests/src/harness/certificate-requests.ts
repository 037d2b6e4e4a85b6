import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '@gantry/objects';
import * as x509 from '@peculiar/x509';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const REQUEST_MS = 60_000;
const ANSWER_MS = 120_000;

x509.cryptoProvider.set(webcrypto);

export const NODE_CLIENT = {
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
} as const;
export const NODE_SERVING = {
  signerName: 'kubernetes.io/kubelet-serving',
  usages: ['digital signature', 'server auth'],
} as const;
export const CLIENT = {
  signerName: 'kubernetes.io/kube-apiserver-client',
  usages: ['digital signature', 'client auth'],
} as const;

/** What is asked for. */
export interface Wanted {
  readonly signerName: string;
  readonly usages: readonly string[];
  /** `O=system:nodes, CN=system:node:a`. */
  readonly subject: string;
  readonly dnsNames?: readonly string[];
}

/** A request that was created, with the key (PEM) that belongs to it. */
export interface Asked {
  readonly name: string;
  readonly key: string;
}

/** Creates a CertificateSigningRequest with a new key as the user of a client. */
export async function askForCertificate(client: HttpClient, wanted: Wanted): Promise<Asked> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const names = (wanted.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value }));
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: wanted.subject,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  const object: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'identity-' },
    spec: {
      request: Buffer.from(request.toString('pem')).toString('base64'),
      signerName: wanted.signerName,
      usages: [...wanted.usages],
    },
  };
  const created = await client.create(CERTIFICATE_SIGNING_REQUESTS, object, AbortSignal.timeout(REQUEST_MS));
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const lines = pkcs8.match(/.{1,64}/g) ?? [];
  return {
    name: created.metadata.name ?? '',
    key: `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`,
  };
}

/** What became of a request: its certificate (PEM), or the message with which it was denied. */
export function answerOf(
  cluster: Cluster,
  { name }: Asked,
): Promise<{ readonly certificate: string } | { readonly refusal: string }> {
  return eventually(`the request ${name} is answered`, ANSWER_MS, async () => {
    const { status } = await cluster.get(CERTIFICATE_SIGNING_REQUESTS, '', name);
    const refusal = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
    if (refusal !== undefined) return { refusal: refusal.message ?? '' };
    if (status?.certificate === undefined) return undefined;
    return { certificate: Buffer.from(status.certificate, 'base64').toString() };
  });
}

/** A client of the cluster with other credentials than the administrator's. */
export function clientAs(
  cluster: Cluster,
  credentials: { readonly cert: string; readonly key: string } | { readonly token: string },
): HttpClient {
  const { server, ca } = readKubeconfig(cluster.kubeconfig);
  const own =
    'token' in credentials ? credentials : { cert: Buffer.from(credentials.cert), key: Buffer.from(credentials.key) };
  return createHttpClient({ server, ...(ca === undefined ? {} : { ca }), ...own, fieldManager: 'identity-tests' });
}
