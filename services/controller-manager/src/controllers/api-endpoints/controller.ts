import { type Endpoints, type EndpointSlice, isReason } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type WatchSpec } from '@gantry/controller-runtime';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../resources.ts';
import { type Action, KUBERNETES, planApiEndpoints } from './plan.ts';

/** API servers come and go without an event. */
const LOOK_AGAIN_MS = 5_000;
const REST_PORT = 6443;

/** Addresses of the API servers that serve now. */
export type ResolveApiServers = () => Promise<readonly string[]>;

const isKubernetes = (object: { metadata: { name?: string; namespace?: string } } | undefined): boolean =>
  object?.metadata.name === KUBERNETES.name && object.metadata.namespace === KUBERNETES.namespace;

const ofKubernetes = (resource: WatchSpec['resource']): WatchSpec => ({
  resource,
  keys: (object, old) => (isKubernetes(object ?? old) ? [KUBERNETES] : []),
});

/** Keeps the Endpoints and the EndpointSlice of `default/kubernetes`: the only key. */
export function createApiEndpointsController(resolve: ResolveApiServers): ControllerSpec {
  return {
    name: 'api-endpoints',
    eventSource: 'api-endpoints',
    watches: [SERVICES, ENDPOINTS, ENDPOINT_SLICES].map(ofKubernetes),
    reconcile: async (_key, context, signal) => {
      const endpoints = context.cache.get<Endpoints>(ENDPOINTS, KUBERNETES);
      const slice = context.cache.get<EndpointSlice>(ENDPOINT_SLICES, KUBERNETES);
      const plan = planApiEndpoints({ endpoints, slice }, await resolve(), REST_PORT);
      for (const action of plan) await execute(action, context, signal);
      return { requeueAfterMs: LOOK_AGAIN_MS };
    },
  };
}

async function execute(action: Action, { client }: ControllerContext, signal: AbortSignal): Promise<void> {
  const resource = action.what === 'endpoints' ? ENDPOINTS : ENDPOINT_SLICES;
  const { namespace } = KUBERNETES;
  const { kind, object } = action;
  try {
    if (kind === 'create') await client.write({ verb: 'create', resource, namespace, object }, signal);
    else await client.write({ verb: 'update', resource, key: KUBERNETES, object }, signal);
  } catch (error) {
    // Made or removed by somebody else: the next look sees it.
    if (!isReason(error, 'AlreadyExists') && !isReason(error, 'NotFound')) throw error;
  }
}
