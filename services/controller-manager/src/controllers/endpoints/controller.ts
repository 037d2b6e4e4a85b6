import { errorMessage } from '@gantry/base';
import { ignoreNotFound, isNamespaceTerminating } from '@gantry/client';
import { carryOut, type ControllerContext, type ControllerSpec, watchSelf } from '@gantry/controller-runtime';
import { ENDPOINTS, formatKey, keyOf, type ObjectKey, SERVICES } from '@gantry/objects';
import {
  hasOwnEndpoints,
  podsOf,
  type SeenTimes,
  triggerTime,
  watchServicePods,
} from '../../libraries/service-endpoints/service-pods.ts';
import { type Action, planEndpoints } from './plan.ts';

/** Maintains the Endpoints of Services that select pods. Keys are Services. */
export function createEndpointsController(): ControllerSpec {
  /** By key; for a Service without a selector only that it exists. */
  const seen = new Map<string, SeenTimes | 'there'>();
  return {
    name: 'endpoints',
    eventSource: 'endpoint-controller',
    watches: [
      watchSelf(SERVICES),
      watchServicePods,
      {
        // Later changes by others stay until the pods change, as in Kubernetes.
        resource: ENDPOINTS,
        keys: (endpoints, old) => (endpoints !== undefined && old !== undefined ? [] : keysOf(endpoints ?? old)),
      },
    ],
    begin: () => seen.clear(),
    reconcile: async (key, context, signal) => {
      const { cache, clock } = context;
      const id = formatKey(key);
      const service = cache.get(SERVICES, key);
      const before = seen.get(id);
      const wasThere = before !== undefined;
      const endpoints = cache.get(ENDPOINTS, key);
      const execute = (action: Action) => write(key, action, context, signal);
      if (service === undefined || !hasOwnEndpoints(service)) {
        const observed = { service, pods: [], endpoints, triggerTime: undefined, wasThere };
        const result = await carryOut(planEndpoints(observed), execute, clock);
        if (service === undefined) seen.delete(id);
        else seen.set(id, 'there');
        return result;
      }
      const pods = podsOf(service, cache);
      const times = triggerTime(before === 'there' ? undefined : before, service, pods);
      seen.set(id, times.seen);
      const observed = { service, pods, endpoints, triggerTime: times.time, wasThere };
      return await carryOut(planEndpoints(observed), execute, clock);
    },
  };
}

function keysOf(object: Parameters<typeof keyOf>[0] | undefined): readonly ObjectKey[] {
  return object === undefined ? [] : [keyOf(object)];
}

async function write(
  key: ObjectKey,
  { kind, endpoints }: Action,
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  if (kind === 'delete') {
    await ignoreNotFound(client.delete(ENDPOINTS, key, { uid: endpoints.metadata.uid }, signal));
    return;
  }
  try {
    if (kind === 'create') await client.create(ENDPOINTS, endpoints, signal);
    else await client.update(ENDPOINTS, endpoints, signal);
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    const service = `${key.namespace}/${key.name}`;
    if (kind === 'create') {
      const message = `Failed to create endpoint for service ${service}: ${errorMessage(error)}`;
      events.event(endpoints, 'Warning', 'FailedToCreateEndpoint', message);
    } else {
      const message = `Failed to update endpoint ${service}: ${errorMessage(error)}`;
      events.event(endpoints, 'Warning', 'FailedToUpdateEndpoint', message);
    }
    throw error;
  }
}
