import { type CertificateSigningRequest, findResource, StatusError } from '@gantry/api';
import { type Clock, must, sleep, withDeadline } from '@gantry/base';
import type { RequestCertificate } from '@gantry/service';
import { userOfIdentity } from './auth/identity.ts';
import type { Driver, RequestContext } from './driver.ts';

const SELF = userOfIdentity('system:apiserver', ['gantry:apiservers']);
const SIGNER = 'gantry.dev/service';
const USAGES = ['digital signature', 'client auth', 'server auth'];
const OPTIONS = { dryRun: false, fieldManager: 'apiserver', fieldValidation: 'Strict' } as const;
const LOOK_EVERY_MS = 1000;
const PATIENCE_MS = 300_000;

/** Has this apiserver's own certificate signed through a CertificateSigningRequest, which the controller-manager answers. */
export function createCertificateRequester(driver: Driver, clock: Clock): RequestCertificate {
  const ref = { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' };
  const definition = must(findResource(ref), ref.resource);
  return async (request, parent) => {
    using signal = withDeadline(clock, parent, PATIENCE_MS);
    const context: RequestContext = { user: SELF, signal, fence: undefined, warn: () => undefined };
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'apiserver-' },
      spec: { request: Buffer.from(request).toString('base64'), signerName: SIGNER, usages: USAGES },
    };
    const body = { bytes: Buffer.from(JSON.stringify(object)), mediaType: 'application/json' } as const;
    const target = { definition, namespace: '', name: '', subresource: '' };
    const created = await driver.create(context, target, body, OPTIONS);
    const name = must(created.object.metadata.name, 'the name of a created object');
    for (;;) {
      const found = (await driver.get(context, { ...target, name }, '')).object as CertificateSigningRequest;
      const certificate = found.status?.certificate;
      if (certificate !== undefined) return Buffer.from(certificate, 'base64').toString('utf8');
      const refusal = found.status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (refusal !== undefined) throw StatusError.badRequest(`${name}: ${refusal.type}: ${refusal.message ?? ''}`);
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  };
}
