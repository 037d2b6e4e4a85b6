import type { Secret, ServiceAccount } from '@gantry/api';

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

export const TOKEN_SECRET = 'kubernetes.io/service-account-token';
const NAME = 'kubernetes.io/service-account.name';
const UID = 'kubernetes.io/service-account.uid';

/** The name of the account that a token secret is for; undefined for other secrets. */
export function accountNameOf(secret: Secret): string | undefined {
  const name = secret.metadata.annotations?.[NAME] ?? '';
  return secret.type === TOKEN_SECRET && name !== '' ? name : undefined;
}

/** Fills a secret that asks for a long-lived token of a ServiceAccount, and removes it when the account has gone. */
export function planTokenSecret({ secret, account, caCertificate }: ObservedTokenSecret): readonly Action[] {
  if (secret.metadata.deletionTimestamp !== undefined) return [];
  const uid = secret.metadata.annotations?.[UID];
  if (account === undefined || (uid !== undefined && uid !== '' && uid !== account.metadata.uid)) {
    return [{ kind: 'delete' }];
  }
  const wanted = {
    'ca.crt': encode(caCertificate),
    namespace: encode(secret.metadata.namespace ?? ''),
  };
  const data = secret.data ?? {};
  const isFilled = data['ca.crt'] === wanted['ca.crt'] && data['namespace'] === wanted.namespace && uid !== undefined;
  const hasToken = (data['token'] ?? '') !== '';
  if (isFilled && hasToken) return [];
  const annotations = { ...secret.metadata.annotations, [UID]: account.metadata.uid ?? '' };
  const filled: Secret = {
    ...secret,
    metadata: { ...secret.metadata, annotations },
    data: { ...data, ...wanted },
  };
  return [{ kind: 'fill', secret: filled, token: hasToken ? 'keep' : 'request' }];
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}
