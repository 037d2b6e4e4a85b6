import type { Namespace, ServiceAccount } from '@gantry/api';

export type Action = { readonly kind: 'create'; readonly account: ServiceAccount };

/** The name of the account that every namespace has. */
export const DEFAULT_ACCOUNT = 'default';

/** Every namespace that is not going away has a `default` ServiceAccount. */
export function planDefaultAccount(
  namespace: Namespace | undefined,
  account: ServiceAccount | undefined,
): readonly Action[] {
  if (namespace === undefined || account !== undefined) return [];
  if (namespace.metadata.deletionTimestamp !== undefined || namespace.status?.phase === 'Terminating') return [];
  return [
    {
      kind: 'create',
      account: {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: DEFAULT_ACCOUNT, namespace: namespace.metadata.name ?? '' },
      },
    },
  ];
}
