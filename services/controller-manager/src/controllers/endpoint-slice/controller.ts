import { errorMessage } from '@gantry/base';
import { type Cache, type ControllerSpec, watchSelf, type WatchSpec } from '@gantry/controller-runtime';
import { formatKey, keyOf, type Node, NODES, type Pod, PODS, type Service, SERVICES } from '@gantry/objects';
import {
  hasOwnEndpoints,
  podsOf,
  type SeenTimes,
  servicesOf,
  triggerTime,
  watchServicePods,
} from '../../libraries/service-endpoints/service-pods.ts';
import { OwnSlices, writeSlices } from '../../libraries/service-endpoints/slice-writes.shell.ts';
import { slicesOf, watchSlices } from '../../libraries/service-endpoints/slices.ts';
import type { EndpointSliceMeter } from '../../metrics/endpoint-slices.ts';
import { hintsByShare } from './hints.ts';
import { type HintReport, MANAGER, type ObservedSlices, planHintReports, planSlices, podsWithoutNode } from './plan.ts';
import { type AddressType, zoneOf } from './pod-endpoint.ts';
import { changesShares, type ZoneShares, zoneShares } from './zone-shares.ts';

/** Endpoints contain the zone of their node: queues the Services of a node's pods when the node appears or changes its zone. */
const watchZones: WatchSpec<Node> = {
  resource: NODES,
  keys: (node, old, cache) => {
    if (node === undefined || (old !== undefined && zoneOf(node) === zoneOf(old))) return [];
    return servicesOf(cache.onNode(PODS, node.metadata.name ?? ''), cache);
  },
};

/** The shares of zones, recomputed only after relevant node changes, and the reports about hints. */
class SharedHints {
  readonly reports = new Map<string, Map<AddressType, string>>();
  #shares: { readonly value: ZoneShares | undefined } | undefined;

  /** Queues the Services with hints by shares when the shares change. */
  readonly watch: WatchSpec<Node> = {
    resource: NODES,
    keys: (node, old, cache) => {
      if (!changesShares(node, old)) return [];
      this.#shares = undefined;
      return cache.list(SERVICES).filter(hintsByShare).map(keyOf);
    },
  };

  /** Input of a plan for a Service's hints. Nothing is computed for a Service that does not use them. */
  observe(id: string, service: Service, cache: Cache): Pick<ObservedSlices, 'shares' | 'hintReports'> {
    const hintReports = this.reports.get(id) ?? new Map<AddressType, string>();
    if (!hintsByShare(service)) return { hintReports };
    this.#shares ??= { value: zoneShares(cache.list(NODES)) };
    return { shares: this.#shares.value, hintReports };
  }

  /** Records a report; forgets it if the Service no longer uses hints by shares. */
  note(id: string, service: Service, { addressType, message }: HintReport): void {
    const known = this.reports.get(id) ?? new Map<AddressType, string>();
    if (hintsByShare(service)) this.reports.set(id, known.set(addressType, message));
    else known.delete(addressType);
  }

  clear(): void {
    this.reports.clear();
    this.#shares = undefined;
  }
}

/** Maintains the EndpointSlices of Services that select pods. Keys are Services. */
export function createEndpointSliceController(meter: EndpointSliceMeter): ControllerSpec {
  const seen = new Map<string, SeenTimes>();
  const own = new OwnSlices();
  const hints = new SharedHints();
  return {
    name: 'endpoint-slice',
    eventSource: 'endpoint-slice-controller',
    watches: [
      watchSelf(SERVICES),
      watchServicePods,
      watchZones,
      hints.watch,
      watchSlices(MANAGER, (slice) => own.isOwnWrite(slice)),
    ],
    begin: () => {
      seen.clear();
      own.clear();
      hints.clear();
    },
    end: () => meter.clear(),
    reconcile: async (key, { cache, client, events }, signal) => {
      const id = formatKey(key);
      const service = cache.get(SERVICES, key);
      if (service === undefined || !hasOwnEndpoints(service)) {
        seen.delete(id);
        hints.reports.delete(id);
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
      const slices = slicesOf(key, MANAGER, cache);
      const shared = hints.observe(id, service, cache);
      const observed = { service, pods, nodes, slices, triggerTime: times.time, ...shared };
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
        await writeSlices(actions, { client, own, meter, owner: `Service ${namespace}/${name}` }, signal);
        meter.wrote(service, actions.length);
        meter.synced('success');
      } catch (error) {
        meter.synced('error');
        if (!signal.aborted) fail(errorMessage(error));
        throw error;
      }
      for (const report of planHintReports(observed)) {
        hints.note(id, service, report);
        events.event(service, report.type, report.reason, report.message);
      }
      // They are reconciled again when their node appears.
      const skipped = podsWithoutNode(observed).map(skips);
      if (skipped.length > 0 && actions.length > 0)
        fail(skipped.length === 1 ? (skipped[0] ?? '') : `[${skipped.join(', ')}]`);
      return {};
    },
  };
}
