import { readFileSync } from 'node:fs';
import type { Secret, ServiceAccount } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import {
  accountNameOf,
  deletedTokenSecret,
  planTokenSecret,
  planTokenSecretReference,
  tokenRequestFor,
  withToken,
} from './plan.ts';

interface SecretCase {
  readonly deleting?: boolean;
  /** The account for which it was filled. */
  readonly uid?: string;
  /** The data as plain text. */
  readonly data?: Readonly<Record<string, string>>;
}

interface Cases {
  readonly secrets: readonly {
    readonly name: string;
    readonly secret: SecretCase;
    /** The uid of the account. When absent, there is no account. */
    readonly account?: string;
    readonly want: 'nothing' | 'delete' | 'fill, request' | 'fill, keep';
  }[];
  readonly references: readonly {
    readonly name: string;
    readonly gone: SecretCase;
    readonly account?: { readonly uid: string; readonly secrets?: readonly string[] };
    /** The Secrets that the account lists afterwards. When absent, nothing is done. */
    readonly want?: readonly string[];
  }[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as Cases;
const NAME = 'kubernetes.io/service-account.name';
const UID = 'kubernetes.io/service-account.uid';
const CA = 'pem';
const encode = (text: string) => Buffer.from(text).toString('base64');

function secretOf({ deleting = false, uid, data }: SecretCase): Secret {
  const encoded = Object.entries(data ?? {}).map(([key, text]) => [key, encode(text)] as const);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: 'tok',
      namespace: 'a',
      uid: 's1',
      annotations: { [NAME]: 'bot', ...(uid === undefined ? {} : { [UID]: uid }) },
      ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    ...(data === undefined ? {} : { data: Object.fromEntries(encoded) }),
  };
}

function accountOf(uid: string, secrets?: readonly string[]): ServiceAccount {
  const metadata = { name: 'bot', namespace: 'a', uid };
  const list = secrets === undefined ? {} : { secrets: secrets.map((name) => ({ name })) };
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata, ...list };
}

describe('planning token secrets', () => {
  it.each(CASES.secrets)('$name', ({ secret: given, account: uid, want }) => {
    const secret = secretOf(given);
    const account = uid === undefined ? undefined : accountOf(uid);
    const { actions } = planTokenSecret({ secret, account, caCertificate: CA });
    const described = actions.map((action) => (action.kind === 'fill' ? `fill, ${action.token}` : action.kind));
    expect(described).toEqual(want === 'nothing' ? [] : [want]);
    const [action] = actions;
    if (action?.kind !== 'fill') return;
    const { annotations } = secret.metadata;
    expect(action.secret).toEqual({
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...annotations, [UID]: uid } },
      data: { ...secret.data, 'ca.crt': encode(CA), namespace: encode('a') },
    });
    // When that is done there is nothing more to do.
    const request = { ...tokenRequestFor(secret), status: { token: 'new', expirationTimestamp: '' } };
    const filled = action.token === 'request' ? withToken(action.secret, request) : action.secret;
    expect(filled.data?.['token']).toBe(encode(action.token === 'request' ? 'new' : (given.data?.['token'] ?? '')));
    expect(planTokenSecret({ secret: filled, account, caCertificate: CA }).actions).toEqual([]);
  });

  it('looks at none but token secrets that name an account', () => {
    const secret = secretOf({});
    expect(accountNameOf(secret)).toBe('bot');
    expect(accountNameOf({ ...secret, type: 'Opaque' })).toBeUndefined();
    expect(accountNameOf({ ...secret, metadata: { name: 'tok' } })).toBeUndefined();
    expect(accountNameOf({ ...secret, metadata: { name: 'tok', annotations: { [NAME]: '' } } })).toBeUndefined();
  });
});

describe('the reference to a token secret that was deleted', () => {
  it.each(CASES.references)('$name', ({ gone: given, account: of, want }) => {
    const gone = deletedTokenSecret(secretOf(given));
    if (gone === undefined) throw new Error('a token secret is remembered');
    expect(gone).toEqual({ name: 'tok', accountName: 'bot', accountUid: given.uid });
    const account = of === undefined ? undefined : accountOf(of.uid, of.secrets);
    const { actions } = planTokenSecretReference(gone, account);
    const dropped = want === undefined ? [] : [accountOf(of?.uid ?? '', want.length === 0 ? undefined : want)];
    expect(actions).toEqual(dropped.map((one) => ({ kind: 'dropReference', account: one })));
    // When that is done there is nothing more to do.
    for (const action of actions) expect(planTokenSecretReference(gone, action.account).actions).toEqual([]);
  });

  it('is remembered of token secrets alone', () => {
    expect(deletedTokenSecret({ ...secretOf({}), type: 'Opaque' })).toBeUndefined();
  });
});
