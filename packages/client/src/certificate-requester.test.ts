import { systemClock } from '@gantry/base';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createCertificateRequester } from './certificate-requester.ts';
import { FakeObjectClient } from './testing/index.ts';

const { signal } = new AbortController();

/** Requests a certificate; `status` is what the signer writes. */
async function requested(status: CertificateSigningRequest['status']) {
  const client = new FakeObjectClient(systemClock);
  const created: CertificateSigningRequest[] = [];
  const requester = createCertificateRequester(
    {
      get: (resource, key) => client.get(resource, key, signal),
      create: async (resource, object) => {
        const stored = await client.create(resource, object, signal);
        created.push(stored);
        await client.updateStatus(CERTIFICATE_SIGNING_REQUESTS, { ...stored, ...(status && { status }) }, signal);
        return stored;
      },
    },
    systemClock,
    'kube-scheduler',
  );
  const answer = requester('a request', signal);
  return { answer, created };
}

describe('a requester of certificates', () => {
  it('asks for what a service is: a client, and a server', async () => {
    const certificate = Buffer.from('a certificate').toString('base64');
    const { answer, created } = await requested({ certificate });
    expect(await answer).toBe('a certificate');
    expect(created).toMatchObject([
      {
        metadata: { name: expect.stringMatching(/^kube-scheduler-/) },
        spec: {
          request: Buffer.from('a request').toString('base64'),
          signerName: 'gantry.dev/service',
          usages: ['digital signature', 'client auth', 'server auth'],
        },
      },
    ]);
  });

  it.each(['Denied', 'Failed'])('rejects with the message of a request that is %s', async (type) => {
    const { answer } = await requested({ conditions: [{ type, status: 'True', message: 'not a service' }] });
    await expect(answer).rejects.toThrow(`${type}: not a service`);
  });
});
