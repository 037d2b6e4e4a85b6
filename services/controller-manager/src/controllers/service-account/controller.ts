import { isReason, type Namespace, type ObjectKey, type ServiceAccount } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, watchMapped } from '@gantry/controller-runtime';
import { NAMESPACES, SERVICE_ACCOUNTS } from '../resources.ts';
import { DEFAULT_ACCOUNT, planDefaultAccount } from './plan.ts';

/** Gives every namespace its `default` ServiceAccount. Keys are namespaces. */
export const serviceAccountController: ControllerSpec = {
  name: 'service-account',
  eventSource: 'serviceaccount-controller',
  watches: [
    watchMapped<Namespace>(NAMESPACES, ({ metadata }) => [{ namespace: '', name: metadata.name ?? '' }]),
    watchMapped<ServiceAccount>(SERVICE_ACCOUNTS, ({ metadata }) =>
      metadata.name === DEFAULT_ACCOUNT ? [{ namespace: '', name: metadata.namespace ?? '' }] : [],
    ),
  ],
  reconcile,
};

async function reconcile({ name }: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const namespace = context.cache.get<Namespace>(NAMESPACES, { namespace: '', name });
  const account = context.cache.get<ServiceAccount>(SERVICE_ACCOUNTS, { namespace: name, name: DEFAULT_ACCOUNT });
  for (const action of planDefaultAccount(namespace, account)) {
    try {
      await context.client.write(
        { verb: 'create', resource: SERVICE_ACCOUNTS, namespace: name, object: action.account },
        signal,
      );
    } catch (error) {
      // Made by somebody else, or the namespace is going away: either way nothing is left to do.
      if (!isReason(error, 'AlreadyExists') && !isReason(error, 'Forbidden') && !isReason(error, 'NotFound'))
        throw error;
    }
  }
  return {};
}
