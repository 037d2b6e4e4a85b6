import type { KubeObject } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { startHarness, type Harness, jsonBody, WRITE } from '../testing.ts';

describe('a request for a token', () => {
  let h: Harness;
  let pod: KubeObject;
  beforeEach(async () => {
    h = await startHarness();
    for (const name of ['a', 'b']) {
      await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    }
    const spec = { serviceAccountName: 'a', containers: [{ name: 'c', image: 'i' }] };
    pod = await h.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
  });

  const ask = (spec: object, account = 'a', metadata: object = {}) => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, spec };
    const target = h.target('serviceaccounts', account, { subresource: 'token' });
    return h.settle(h.registry.create(h.context(), target, jsonBody(body), WRITE));
  };
  const bound = (change: object = {}) => ({
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid, ...change },
  });

  it('is answered for a pod of the account', async () => {
    const { object } = await ask(bound());
    expect(object).toMatchObject({ status: { token: 'token of n/a' } });
  });

  it('is refused for a pod of another account', async () => {
    await expect(ask(bound(), 'b')).rejects.toThrow(
      'cannot bind token for serviceaccount "b" to pod running with different serviceaccount name.',
    );
  });

  it('is refused for another object of the name, and for one that is missing', async () => {
    await expect(ask(bound({ uid: 'other' }))).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(ask(bound({ name: 'missing' }))).rejects.toMatchObject({ reason: 'NotFound' });
    await expect(ask(bound({ kind: 'Service' }))).rejects.toThrow(
      'cannot bind token to object of type /v1, Kind=Service',
    );
  });

  it('is refused for a time that no token may last', async () => {
    const shorter = 'may not specify a duration less than 10 minutes';
    await expect(ask({ expirationSeconds: 599 })).rejects.toThrow(shorter);
    const longer = 'may not specify a duration larger than 2^32 seconds';
    await expect(ask({ expirationSeconds: 2 ** 32 + 1 })).rejects.toThrow(longer);
    await expect(ask({ expirationSeconds: 600 })).resolves.toBeDefined();
  });

  it('is refused when it names another account than its path', async () => {
    await expect(ask({}, 'a', { name: 'b' })).rejects.toThrow('must match the service account name if specified');
    await expect(ask({}, 'a', { uid: 'other' })).rejects.toMatchObject({ reason: 'Conflict' });
  });
});
