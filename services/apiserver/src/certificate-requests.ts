import { must, sleep, withDeadline, type Clock } from '@gantry/base';
import { type CertificateSigningRequest, StatusError } from '@gantry/objects';
import type { RequestCertificate } from '@gantry/service';
import type { LoopbackClient } from './loops/loopback-client.ts';

const REQUESTS = { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' } as const;
const SIGNER = 'gantry.dev/service';
const USAGES = ['digital signature', 'client auth', 'server auth'];
const LOOK_EVERY_MS = 1000;
const PATIENCE_MS = 300_000;

/** Has this apiserver's own certificate signed through a CertificateSigningRequest. The controller-manager signs it. */
export function createCertificateRequester(client: LoopbackClient, clock: Clock): RequestCertificate {
  return async (request, parent) => {
    using signal = withDeadline(clock, parent, PATIENCE_MS);
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'apiserver-' },
      spec: { request: Buffer.from(request).toString('base64'), signerName: SIGNER, usages: USAGES },
    };
    const created = await client.create(REQUESTS, object, signal);
    const { name } = must(created, 'a created object with a generated name').metadata;
    for (;;) {
      const found = (await client.get(REQUESTS, { name }, 'latest', signal)) as CertificateSigningRequest | undefined;
      if (found === undefined) throw StatusError.notFound(REQUESTS, name ?? '');
      const { certificate, conditions = [] } = found.status ?? {};
      if (certificate !== undefined) return Buffer.from(certificate, 'base64').toString('utf8');
      const refusal = conditions.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (refusal !== undefined) {
        throw StatusError.badRequest(`${name ?? ''}: ${refusal.type}: ${refusal.message ?? ''}`);
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  };
}
