import type { CertificateSigningRequest } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { expect, it } from 'vitest';
import { runOvertaken } from '../../testing/run-overtaken.ts';
import { CERTIFICATE_REQUESTS } from '../resources.ts';
import { createCsrSigningController } from './controller.ts';

it('removes no request that has taken the name of an old one', async () => {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  const key = { namespace: '', name: 'r' };
  const request: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r' },
    spec: { signerName: 'example.org/other', request: '', usages: [] },
    status: { conditions: [{ type: 'Denied', status: 'True' }] },
  };
  await client.put<CertificateSigningRequest>(CERTIFICATE_REQUESTS, request);
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.write({ verb: 'delete', resource: CERTIFICATE_REQUESTS, key }, stop.signal);
    await client.put<CertificateSigningRequest>(CERTIFICATE_REQUESTS, request);
  };
  const controller = createCsrSigningController({
    authority: { parse: async () => 'there is none', sign: async () => '' },
    firstServiceAddress: '10.96.0.1',
  });
  runOvertaken({ controllers: [controller], client, clock, meanwhile }, stop.signal);
  await clock.advance(3_600_000 + 1000);
  expect(acted).toBe('yes');
  expect(client.all(CERTIFICATE_REQUESTS)).toHaveLength(1);
  stop.abort();
});
