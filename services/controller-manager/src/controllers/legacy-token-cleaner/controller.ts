import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec, watchMapped } from '@gantry/controller-runtime';
import {
  ACCOUNT_NAME_ANNOTATION,
  CONFIG_MAPS,
  keyOf,
  PODS,
  SECRETS,
  SERVICE_ACCOUNTS,
  TOKEN_INVALID_SINCE_LABEL,
  TOKEN_SECRET,
  TOKEN_TRACKING,
} from '@gantry/objects';
import { type Action, planTokenCleanup } from './plan.ts';

/** Removes unused tokens of ServiceAccounts in two steps of one year each. Keys are Secrets. */
export const legacyTokenCleaner: ControllerSpec = {
  name: 'legacy-token-cleaner',
  eventSource: 'legacy-serviceaccount-token-cleaner',
  watches: [
    watchMapped(SECRETS, (secret) => (secret.type === TOKEN_SECRET ? [keyOf(secret)] : [])),
    // A change of these takes effect when the Secret is reconciled next, within a day.
    ...[SERVICE_ACCOUNTS, PODS, CONFIG_MAPS].map((resource) => ({ resource, keys: () => [] })),
  ],
  reconcile: async (key, { cache, client, clock }, signal) => {
    const secret = cache.get(SECRETS, key);
    if (secret?.type !== TOKEN_SECRET) return {};
    const { namespace } = key;
    const name = secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? '';
    const observed = {
      secret,
      account: cache.get(SERVICE_ACCOUNTS, { namespace, name }),
      pods: cache.list(PODS, namespace),
      trackedSince: cache.get(CONFIG_MAPS, TOKEN_TRACKING)?.data?.['since'],
    };
    // A token that was used meanwhile has another version, so the write fails.
    const { uid, resourceVersion } = secret.metadata;
    const execute = async (action: Action) => {
      if (action.kind === 'delete') {
        await ignoreNotFound(client.delete(SECRETS, key, { uid, resourceVersion }, signal));
        return;
      }
      const labels = { [TOKEN_INVALID_SINCE_LABEL]: action.day };
      await ignoreNotFound(
        client.patch(SECRETS, key, { merge: { metadata: { uid, resourceVersion, labels } } }, signal),
      );
    };
    return await carryOut(planTokenCleanup(observed, clock.now()), execute, clock);
  },
};
