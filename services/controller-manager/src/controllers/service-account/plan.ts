import type { Plan } from '@gantry/base';
import type { Namespace, ServiceAccount } from '@gantry/objects';

export type Action = { readonly kind: 'create'; readonly account: ServiceAccount };

/** The name of the account that every namespace has. */
export const DEFAULT_ACCOUNT = 'default';

/** Every non-terminating namespace gets a `default` ServiceAccount. */
export function planDefaultAccount(
  namespace: Namespace | undefined,
  account: ServiceAccount | undefined,
): Plan<Action> {
  if (namespace === undefined || account !== undefined) return { actions: [] };
  if (namespace.metadata.deletionTimestamp !== undefined || namespace.status?.phase === 'Terminating')
    return { actions: [] };
  const metadata = { name: DEFAULT_ACCOUNT, namespace: namespace.metadata.name ?? '' };
  return { actions: [{ kind: 'create', account: { apiVersion: 'v1', kind: 'ServiceAccount', metadata } }] };
}
