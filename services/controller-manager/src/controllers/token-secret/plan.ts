import type { Plan } from '@gantry/base';
import {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
  type Secret,
  type ServiceAccount,
  TOKEN_SECRET,
  type TokenRequest,
} from '@gantry/objects';

/** The input of the plan. If `account` is undefined, its absence was verified at the store. */
export interface ObservedTokenSecret {
  readonly secret: Secret;
  readonly account: ServiceAccount | undefined;
  readonly caCertificate: string;
}

export type Action =
  /** Its account has been deleted, possibly replaced by another one. */
  | { readonly kind: 'delete' }
  /** The Secret with everything except a token. With `token: 'request'`, a new token is requested. */
  | { readonly kind: 'fill'; readonly secret: Secret; readonly token: 'keep' | 'request' };

/** Removes the reference to a deleted Secret from the account. */
export interface DropReference {
  readonly kind: 'dropReference';
  readonly account: ServiceAccount;
}

/** A deleted token Secret: its name and its account. */
export interface DeletedTokenSecret {
  readonly name: string;
  readonly accountName: string;
  /** Undefined if the Secret was never filled. */
  readonly accountUid: string | undefined;
}

/** The name of the account that a token secret is for; undefined for other secrets. */
export function accountNameOf(secret: Secret): string | undefined {
  const name = secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? '';
  return secret.type === TOKEN_SECRET && name !== '' ? name : undefined;
}

/** The memory of a deleted Secret; undefined if it is not a token Secret. */
export function deletedTokenSecret(secret: Secret): DeletedTokenSecret | undefined {
  const accountName = accountNameOf(secret);
  if (accountName === undefined) return undefined;
  return {
    name: secret.metadata.name ?? '',
    accountName,
    accountUid: secret.metadata.annotations?.[ACCOUNT_UID_ANNOTATION],
  };
}

/** Removes a deleted Secret from the list of its account. */
export function planTokenSecretReference(
  { name, accountUid = '' }: DeletedTokenSecret,
  account: ServiceAccount | undefined,
): Plan<DropReference> {
  if (account === undefined || (accountUid !== '' && accountUid !== account.metadata.uid)) return { actions: [] };
  const { secrets = [], ...rest } = account;
  const kept = secrets.filter((reference) => reference.name !== name);
  if (kept.length === secrets.length) return { actions: [] };
  return { actions: [{ kind: 'dropReference', account: kept.length === 0 ? rest : { ...rest, secrets: kept } }] };
}

/** Fills a Secret that requests a long-lived token of a ServiceAccount, and deletes it when the account is gone. */
export function planTokenSecret({ secret, account, caCertificate }: ObservedTokenSecret): Plan<Action> {
  if (secret.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const uid = secret.metadata.annotations?.[ACCOUNT_UID_ANNOTATION];
  if (account === undefined || (uid !== undefined && uid !== '' && uid !== account.metadata.uid)) {
    return { actions: [{ kind: 'delete' }] };
  }
  const wanted = {
    'ca.crt': encode(caCertificate),
    namespace: encode(secret.metadata.namespace ?? ''),
  };
  const data = secret.data ?? {};
  const isFilled = data['ca.crt'] === wanted['ca.crt'] && data['namespace'] === wanted.namespace && uid !== undefined;
  const hasToken = (data['token'] ?? '') !== '';
  if (isFilled && hasToken) return { actions: [] };
  const annotations = { ...secret.metadata.annotations, [ACCOUNT_UID_ANNOTATION]: account.metadata.uid ?? '' };
  const filled: Secret = {
    ...secret,
    metadata: { ...secret.metadata, annotations },
    data: { ...data, ...wanted },
  };
  return { actions: [{ kind: 'fill', secret: filled, token: hasToken ? 'keep' : 'request' }] };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The maximum that the API allows: such tokens are meant to be long-lived. */
const LIFETIME_SECONDS = 10 * 365 * 86_400;

/** Requests a token that is valid while the Secret exists. */
export function tokenRequestFor({ metadata: { name = '', uid = '' } }: Secret): TokenRequest {
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: {
      audiences: [],
      expirationSeconds: LIFETIME_SECONDS,
      boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid },
    },
  };
}

/** The secret with its token. */
export function withToken(secret: Secret, { status }: TokenRequest): Secret {
  return { ...secret, data: { ...secret.data, token: encode(status?.token ?? '') } };
}
