import { ignoreReasons } from '@gantry/client';
import { carryOut, type ControllerSpec, watchMapped } from '@gantry/controller-runtime';
import { NAMESPACES, SERVICE_ACCOUNTS } from '@gantry/objects';
import { type Action, DEFAULT_ACCOUNT, planDefaultAccount } from './plan.ts';

/** Gives every namespace its `default` ServiceAccount. Keys are namespaces. */
export const serviceAccountController: ControllerSpec = {
  name: 'service-account',
  eventSource: 'serviceaccount-controller',
  watches: [
    watchMapped(NAMESPACES, ({ metadata }) => [{ namespace: '', name: metadata.name ?? '' }]),
    watchMapped(SERVICE_ACCOUNTS, ({ metadata }) =>
      metadata.name === DEFAULT_ACCOUNT ? [{ namespace: '', name: metadata.namespace ?? '' }] : [],
    ),
  ],
  reconcile: async ({ name }, { cache, client, clock }, signal) => {
    const namespace = cache.get(NAMESPACES, { namespace: '', name });
    const account = cache.get(SERVICE_ACCOUNTS, { namespace: name, name: DEFAULT_ACCOUNT });
    const create = (action: Action) => {
      const created = client.create(SERVICE_ACCOUNTS, action.account, signal);
      // Created by another writer, or the namespace is terminating.
      return ignoreReasons(created, ['AlreadyExists', 'Forbidden', 'NotFound']);
    };
    return await carryOut(planDefaultAccount(namespace, account), create, clock);
  },
};
