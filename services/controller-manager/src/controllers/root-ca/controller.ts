import { type ConfigMap, isReason, keyOf, type Namespace, type ObjectKey } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, watchMapped } from '@gantry/controller-runtime';
import { CONFIG_MAPS, NAMESPACES } from '../resources.ts';
import { type Action, planRootCa, ROOT_CA } from './plan.ts';

/** Publishes the CA certificate in every namespace. Keys are namespaces. `readCa` gives the newest PEM. */
export function createRootCaController(readCa: () => string): ControllerSpec {
  return {
    name: 'root-ca',
    eventSource: 'root-ca-cert-publisher',
    watches: [
      watchMapped<Namespace>(NAMESPACES, ({ metadata }) => [{ namespace: '', name: metadata.name ?? '' }]),
      watchMapped<ConfigMap>(CONFIG_MAPS, ({ metadata }) =>
        metadata.name === ROOT_CA ? [{ namespace: '', name: metadata.namespace ?? '' }] : [],
      ),
    ],
    reconcile: (key, context, signal) => reconcile(readCa(), key, context, signal),
  };
}

async function reconcile(
  caCertificate: string,
  { name }: ObjectKey,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const namespace = context.cache.get<Namespace>(NAMESPACES, { namespace: '', name });
  const configMap = context.cache.get<ConfigMap>(CONFIG_MAPS, { namespace: name, name: ROOT_CA });
  for (const action of planRootCa(namespace, configMap, caCertificate)) {
    try {
      await execute(action, context, signal);
    } catch (error) {
      // Made by somebody else, or the namespace is going away: either way nothing is left to do.
      if (!isReason(error, 'AlreadyExists') && !isReason(error, 'Forbidden') && !isReason(error, 'NotFound'))
        throw error;
    }
  }
  return {};
}

async function execute(action: Action, { client }: ControllerContext, signal: AbortSignal): Promise<void> {
  const { configMap } = action;
  const key = keyOf(configMap);
  if (action.kind === 'create') {
    const { namespace } = key;
    await client.write({ verb: 'create', resource: CONFIG_MAPS, namespace, object: configMap }, signal);
  } else await client.write({ verb: 'update', resource: CONFIG_MAPS, key, object: configMap }, signal);
}
