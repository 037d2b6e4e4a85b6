import type { Plan } from '@gantry/base';
import {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
  type Secret,
  type ServiceAccount,
  TOKEN_SECRET,
  type TokenRequest,
} from '@gantry/objects';

/** What the plan looks at. `account` is verified to be absent at the store when it is undefined. */
export interface ObservedTokenSecret {
  readonly secret: Secret;
  readonly account: ServiceAccount | undefined;
  readonly caCertificate: string;
}

export type Action =
  /** Its account is gone, or another one by now. */
  | { readonly kind: 'delete' }
  /** The secret with everything but a token. A new token is asked for when `token` says so. */
  | { readonly kind: 'fill'; readonly secret: Secret; readonly token: 'keep' | 'request' };

/** The account without the reference to a secret that has gone. */
export interface DropReference {
  readonly kind: 'dropReference';
  readonly account: ServiceAccount;
}

/** A token secret that was deleted: its name, and the account that it was for. */
export interface DeletedTokenSecret {
  readonly name: string;
  readonly accountName: string;
  /** Undefined when the secret was never filled. */
  readonly accountUid: string | undefined;
}

/** The name of the account that a token secret is for; undefined for other secrets. */
export function accountNameOf(secret: Secret): string | undefined {
  const name = secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? '';
  return secret.type === TOKEN_SECRET && name !== '' ? name : undefined;
}

/** What is remembered of a deleted secret; undefined for others than token secrets. */
export function deletedTokenSecret(secret: Secret): DeletedTokenSecret | undefined {
  const accountName = accountNameOf(secret);
  if (accountName === undefined) return undefined;
  return {
    name: secret.metadata.name ?? '',
    accountName,
    accountUid: secret.metadata.annotations?.[ACCOUNT_UID_ANNOTATION],
  };
}

/** The account that a deleted secret was for does not list it any more. */
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

/** Fills a secret that asks for a long-lived token of a ServiceAccount, and removes it when the account has gone. */
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

/** As long as the API allows: such tokens are meant to last. */
const LIFETIME_SECONDS = 10 * 365 * 86_400;

/** Asks for a token that is valid while the secret exists. */
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
