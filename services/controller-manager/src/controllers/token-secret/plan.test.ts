import type { Secret, ServiceAccount } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { accountNameOf, deletedTokenSecret, planTokenSecret, planTokenSecretReference } from './plan.ts';

const account: ServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'bot', namespace: 'a', uid: 'u1' },
};
const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/service-account-token',
  metadata: { name: 'tok', namespace: 'a', annotations: { 'kubernetes.io/service-account.name': 'bot' } },
};
const caCertificate = 'pem';

describe('planning token secrets', () => {
  it('looks at none but token secrets that name an account', () => {
    expect(accountNameOf(secret)).toBe('bot');
    expect(accountNameOf({ ...secret, type: 'Opaque' })).toBeUndefined();
    expect(accountNameOf({ ...secret, metadata: { name: 'tok' } })).toBeUndefined();
  });

  it('fills a new one, and is done when it has a token', () => {
    const [action] = planTokenSecret({ secret, account, caCertificate }).actions;
    expect(action).toMatchObject({
      kind: 'fill',
      token: 'request',
      secret: {
        metadata: { annotations: { 'kubernetes.io/service-account.uid': 'u1' } },
        data: { 'ca.crt': 'cGVt', namespace: 'YQ==' },
      },
    });
    if (action?.kind !== 'fill') return;
    const filled = { ...action.secret, data: { ...action.secret.data, token: 'eA==' } };
    expect(planTokenSecret({ secret: filled, account, caCertificate }).actions).toEqual([]);
    expect(planTokenSecret({ secret: filled, account, caCertificate: 'new' }).actions).toMatchObject([
      { token: 'keep' },
    ]);
  });

  it('removes one whose account has gone, or is another by now', () => {
    expect(planTokenSecret({ secret, account: undefined, caCertificate }).actions).toEqual([{ kind: 'delete' }]);
    const annotations = { ...secret.metadata.annotations, 'kubernetes.io/service-account.uid': 'u0' };
    const old = { ...secret, metadata: { ...secret.metadata, annotations } };
    expect(planTokenSecret({ secret: old, account, caCertificate }).actions).toEqual([{ kind: 'delete' }]);
  });

  it('takes one that was deleted off the list of its account, and of no other', () => {
    const gone = deletedTokenSecret(secret);
    if (gone === undefined) throw new Error('a token secret is remembered');
    const lists = { ...account, secrets: [{ name: 'tok' }, { name: 'other' }] };
    const dropped = { ...account, secrets: [{ name: 'other' }] };
    expect(planTokenSecretReference(gone, lists).actions).toEqual([{ kind: 'dropReference', account: dropped }]);
    expect(planTokenSecretReference(gone, dropped).actions).toEqual([]);
    expect(planTokenSecretReference({ ...gone, accountUid: 'u0' }, lists).actions).toEqual([]);
    expect(planTokenSecretReference(gone, undefined).actions).toEqual([]);
    expect(deletedTokenSecret({ ...secret, type: 'Opaque' })).toBeUndefined();
  });
});
