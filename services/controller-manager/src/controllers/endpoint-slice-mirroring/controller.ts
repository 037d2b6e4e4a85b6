import { type ControllerSpec, watchMapped, type WatchSpec } from '@gantry/controller-runtime';
import { ENDPOINTS, equalJson, formatKey, keyOf, type Service, SERVICES } from '@gantry/objects';
import { selectsPods } from '../service-endpoints/service-rules.ts';
import { OwnSlices, writeSlices } from '../service-endpoints/slice-writes.shell.ts';
import { slicesOf, watchSlices } from '../service-endpoints/slices.ts';
import { isMirrored, MANAGER, planMirror, skippedAddresses } from './plan.ts';

/** Queues the Endpoints of a Service that has no selector, or had none. */
const watchServices: WatchSpec<Service> = {
  resource: SERVICES,
  keys: (service, old) => {
    const states = [service, old].filter((state) => state !== undefined);
    if (states.every(({ spec }) => selectsPods(spec))) return [];
    return service !== undefined && old !== undefined && selectsPods(service.spec) === selectsPods(old.spec)
      ? []
      : states.slice(0, 1).map(keyOf);
  },
};

/** Mirrors the Endpoints that users keep for Services without a selector. Keys are Endpoints. */
export function createEndpointSliceMirroringController(): ControllerSpec {
  const own = new OwnSlices();
  /** What was reported of the Endpoints, by key. */
  const reported = new Map<string, readonly unknown[]>();
  return {
    name: 'endpoint-slice-mirroring',
    eventSource: 'endpoint-slice-mirroring-controller',
    watches: [
      watchServices,
      watchMapped(ENDPOINTS, (endpoints) => (isMirrored(endpoints) ? [keyOf(endpoints)] : [])),
      watchSlices(MANAGER, (slice) => own.isOwnWrite(slice)),
    ],
    begin: () => {
      own.clear();
      reported.clear();
    },
    reconcile: async (key, { cache, client, events }, signal) => {
      const endpoints = cache.get(ENDPOINTS, key);
      const observed = { endpoints, service: cache.get(SERVICES, key), slices: slicesOf(key, MANAGER, cache) };
      await writeSlices(planMirror(observed).actions, client, own, signal);
      const skipped = skippedAddresses(observed);
      const id = formatKey(key);
      if (endpoints !== undefined && !equalJson(skipped, reported.get(id) ?? [])) {
        for (const { reason, message } of skipped) events.event(endpoints, 'Warning', reason, message);
      }
      if (skipped.length === 0) reported.delete(id);
      else reported.set(id, skipped);
      return {};
    },
  };
}
