import {
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  type ObjectKey,
  type Resource,
  SERVICE_SIGNER,
  StatusError,
} from '@gantry/objects';
import { type Clock, sleep, withDeadline } from '@gantry/base';

const USAGES = ['digital signature', 'client auth', 'server auth'];
const LOOK_EVERY_MS = 1000;
const PATIENCE_MS = 300_000;

/** A client for certificate requests. Every `ObjectClient` implements it. */
export interface CertificateRequestClient {
  get(
    resource: Resource<CertificateSigningRequest>,
    key: ObjectKey,
    signal: AbortSignal,
  ): Promise<CertificateSigningRequest>;
  create(
    resource: Resource<CertificateSigningRequest>,
    object: CertificateSigningRequest,
    signal: AbortSignal,
  ): Promise<CertificateSigningRequest>;
}

/**
 * Creates a function that gets a service's own certificate through a CertificateSigningRequest, which the controller-manager signs. It
 * takes the PKCS #10 request and returns the certificate, both PEM. It rejects when the request is denied or fails, or after five minutes.
 * Standbys may use it: it needs no fence.
 */
export function createCertificateRequester(
  client: CertificateRequestClient,
  clock: Clock,
  component: string,
): (request: string, signal: AbortSignal) => Promise<string> {
  return async (request, parent) => {
    using signal = withDeadline(clock, parent, PATIENCE_MS);
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: `${component}-` },
      spec: { request: Buffer.from(request).toString('base64'), signerName: SERVICE_SIGNER, usages: USAGES },
    };
    const created = await client.create(CERTIFICATE_SIGNING_REQUESTS, object, signal);
    const key = { namespace: '', name: created.metadata.name ?? '' };
    for (;;) {
      const { status } = await client.get(CERTIFICATE_SIGNING_REQUESTS, key, signal);
      if (status?.certificate !== undefined) return Buffer.from(status.certificate, 'base64').toString('utf8');
      const refusal = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (refusal !== undefined) throw StatusError.badRequest(`${key.name}: ${refusal.type}: ${refusal.message ?? ''}`);
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  };
}
