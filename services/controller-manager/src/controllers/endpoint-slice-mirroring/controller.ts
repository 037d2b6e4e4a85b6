import { type ControllerSpec, watchMapped, type WatchSpec } from '@gantry/controller-runtime';
import { ENDPOINTS, equalJson, formatKey, keyOf, type Service, SERVICES } from '@gantry/objects';
import { selectsPods } from '../../libraries/service-endpoints/service-pods.ts';
import { OwnSlices, writeSlices } from '../../libraries/service-endpoints/slice-writes.shell.ts';
import { slicesOf, watchSlices } from '../../libraries/service-endpoints/slices.ts';
import type { MirrorMeter } from '../../metrics/endpoint-slices.ts';
import { groupMirror, isMirrored, MANAGER, planMirror, skippedAddresses } from './plan.ts';

/** Queues the Endpoints of a Service that has, or had, no selector. */
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

/** Mirrors Endpoints that users manage for Services without a selector. Keys are Endpoints. */
export function createEndpointSliceMirroringController(meter: MirrorMeter): ControllerSpec {
  const own = new OwnSlices();
  /** Reports about the Endpoints, by key. */
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
    end: () => meter.clear(),
    reconcile: async (key, { cache, client, clock, events }, signal) => {
      const startedAt = clock.now();
      const endpoints = cache.get(ENDPOINTS, key);
      const observed = { endpoints, service: cache.get(SERVICES, key), slices: slicesOf(key, MANAGER, cache) };
      const grouped = groupMirror(observed);
      const { actions } = planMirror(observed, grouped);
      const skipped = skippedAddresses(grouped);
      const id = formatKey(key);
      const { updated } = meter.planned(id, observed.slices, actions);
      meter.mirrored(skipped.addresses, updated);
      if (endpoints === undefined) meter.forget(id);
      try {
        await writeSlices(actions, { client, own, meter, owner: `Endpoints ${id}` }, signal);
      } finally {
        meter.synced((clock.now() - startedAt) / 1000);
      }
      if (endpoints !== undefined && !equalJson(skipped.reports, reported.get(id) ?? [])) {
        for (const { reason, message } of skipped.reports) events.event(endpoints, 'Warning', reason, message);
      }
      if (skipped.reports.length === 0) reported.delete(id);
      else reported.set(id, skipped.reports);
      return {};
    },
  };
}
