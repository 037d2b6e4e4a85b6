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

/** A client of certificate requests. Every `ObjectClient` is one. */
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
 * Has a fixed service's own certificate signed through a CertificateSigningRequest: takes the PKCS #10 request and gives the
 * certificate, both PEM; the controller-manager signs it. Rejects when the request is denied or fails, or after five minutes. Open to
 * standbys, which carry no fence.
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
