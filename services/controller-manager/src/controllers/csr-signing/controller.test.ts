import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '@gantry/objects';
import type { ObjectWrite } from '@gantry/client';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createCsrSigningController } from './controller.ts';

it('removes no request that has taken the name of an old one', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const key = { namespace: '', name: 'r' };
  const request: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r' },
    spec: { signerName: 'example.org/other', request: '', usages: [] },
    status: { conditions: [{ type: 'Denied', status: 'True' }] },
  };
  await client.put(CERTIFICATE_SIGNING_REQUESTS, request);
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.delete(CERTIFICATE_SIGNING_REQUESTS, key, {}, stop.signal);
    await client.put(CERTIFICATE_SIGNING_REQUESTS, request);
  };
  const authority = { parse: async () => 'there is none', sign: async () => '' };
  const controller = createCsrSigningController({
    authorities: { cluster: authority, 'node-serving': authority },
    signers: {
      firstServiceAddress: '10.96.0.1',
      podCidr: '10.128.0.0/20',
      reservedNames: [],
      servingApproval: 'manual',
      joining: 'refused',
    },
  });
  run([controller], { meanwhile });
  await clock.advance(3_600_000 + 1000);
  expect(acted).toBe('yes');
  expect(client.all(CERTIFICATE_SIGNING_REQUESTS)).toHaveLength(1);
});
