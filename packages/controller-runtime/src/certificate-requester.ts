import { CERTIFICATE_SIGNING_REQUESTS, StatusError } from '@gantry/objects';
import { type Clock, sleep, withDeadline } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';

const SIGNER = 'gantry.dev/service';
const USAGES = ['digital signature', 'client auth', 'server auth'];
const LOOK_EVERY_MS = 1000;
const PATIENCE_MS = 300_000;

/**
 * Has a fixed service's own certificate signed through a CertificateSigningRequest: takes the PKCS #10 request and gives the
 * certificate, both PEM. Open to standbys, which carry no fence.
 */
export function createCertificateRequester(
  client: Pick<ObjectClient, 'get' | 'create'>,
  clock: Clock,
  component: string,
): (request: string, signal: AbortSignal) => Promise<string> {
  return async (request, parent) => {
    using signal = withDeadline(clock, parent, PATIENCE_MS);
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: `${component}-` },
      spec: { request: Buffer.from(request).toString('base64'), signerName: SIGNER, usages: USAGES },
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
