import { errorMessage } from '@gantry/base';
import { type ControllerSpec, watchSelf, type WatchSpec } from '@gantry/controller-runtime';
import { formatKey, type Node, NODES, type Pod, PODS, SERVICES } from '@gantry/objects';
import { podsOf, servicesOf, watchServicePods } from '../service-endpoints/service-pods.ts';
import { hasOwnEndpoints } from '../service-endpoints/service-rules.ts';
import { OwnSlices, writeSlices } from '../service-endpoints/slice-writes.shell.ts';
import { slicesOf, watchSlices } from '../service-endpoints/slices.ts';
import { type SeenTimes, triggerTime } from '../service-endpoints/trigger-time.ts';
import type { EndpointSliceMeter } from './meter.shell.ts';
import { MANAGER, planSlices, podsWithoutNode } from './plan.ts';
import { zoneOf } from './pod-endpoint.ts';

/** Endpoints have the zone of their node: queues the Services of a node's pods when it appears or gets another zone. */
const watchZones: WatchSpec<Node> = {
  resource: NODES,
  keys: (node, old, cache) => {
    if (node === undefined || (old !== undefined && zoneOf(node) === zoneOf(old))) return [];
    return servicesOf(cache.onNode(PODS, node.metadata.name ?? ''), cache);
  },
};

/** Keeps the EndpointSlices of Services that select pods. Keys are Services. */
export function createEndpointSliceController(meter: EndpointSliceMeter): ControllerSpec {
  const seen = new Map<string, SeenTimes>();
  const own = new OwnSlices();
  return {
    name: 'endpoint-slice',
    eventSource: 'endpoint-slice-controller',
    watches: [
      watchSelf(SERVICES),
      watchServicePods,
      watchZones,
      watchSlices(MANAGER, (slice) => own.isOwnWrite(slice)),
    ],
    begin: () => {
      seen.clear();
      own.clear();
      meter.clear();
    },
    reconcile: async (key, { cache, client, events }, signal) => {
      const id = formatKey(key);
      const service = cache.get(SERVICES, key);
      if (service === undefined || !hasOwnEndpoints(service)) {
        seen.delete(id);
        meter.forget(id);
        return {};
      }
      const pods = podsOf(service, cache);
      const times = triggerTime(seen.get(id), service, pods);
      seen.set(id, times.seen);
      const nodes = new Map<string, Node>();
      for (const name of new Set(pods.map(({ spec }) => spec?.nodeName ?? ''))) {
        const node = cache.get(NODES, { namespace: '', name });
        if (node !== undefined) nodes.set(name, node);
      }
      const observed = { service, pods, nodes, slices: slicesOf(key, MANAGER, cache), triggerTime: times.time };
      const { namespace, name } = key;
      const fail = (why: string) => {
        const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: ${why}`;
        events.event(service, 'Warning', 'FailedToUpdateEndpointSlices', message);
      };
      const skips = (pod: Pod) =>
        `skipping Pod ${pod.metadata.name ?? ''} for Service ${namespace}/${name}: Node ${pod.spec?.nodeName ?? ''} Not Found`;
      const { actions } = planSlices(observed);
      meter.planned(id, observed.slices, actions);
      meter.distributes(id, service);
      try {
        await writeSlices(actions, { client, own, meter }, signal);
        meter.wrote(service, actions.length);
        meter.synced('success');
      } catch (error) {
        meter.synced('error');
        if (!signal.aborted) fail(errorMessage(error));
        throw error;
      }
      // They are looked at again when their node appears.
      const skipped = podsWithoutNode(observed).map(skips);
      if (skipped.length > 0 && actions.length > 0)
        fail(skipped.length === 1 ? (skipped[0] ?? '') : `[${skipped.join(', ')}]`);
      return {};
    },
  };
}
