import { ignoreReasons, isNamespaceTerminating } from '@gantry/client';
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
    const create = async (action: Action) => {
      try {
        await ignoreReasons(client.create(SERVICE_ACCOUNTS, action.account, signal), ['AlreadyExists', 'NotFound']);
      } catch (error) {
        // A quota or policy that rejects this now may allow it later.
        if (!isNamespaceTerminating(error)) throw error;
      }
    };
    return await carryOut(planDefaultAccount(namespace, account), create, clock);
  },
};
