import type { Plan } from '@gantry/base';
import { canonicalIp, type IpFamily } from '@gantry/kinds';
import {
  type EndpointAddress,
  type EndpointPort,
  type Endpoints,
  ENDPOINTS_MANAGER_LABEL,
  type EndpointSubset,
  equalJson,
  type Pod,
  type Service,
  TRIGGER_TIME_ANNOTATION,
} from '@gantry/objects';
import { isReady } from '../../libraries/pods/pod-state.ts';
import {
  addressesOf,
  hasOwnEndpoints,
  HEADLESS_LABEL,
  hostnameIn,
  isEndpoint,
  isHeadless,
} from '../../libraries/service-endpoints/service-pods.ts';
import { type PodPort, portsOfPods } from '../../libraries/service-endpoints/service-ports.ts';
import { repackSubsets } from '../../libraries/service-endpoints/subsets.ts';

const MANAGER = 'endpoint-controller';

/** The input of the plan. */
export interface ObservedEndpoints {
  readonly service: Service | undefined;
  /** The pods that the Service selects. */
  readonly pods: readonly Pod[];
  readonly endpoints: Endpoints | undefined;
  /** The time of the change that caused this reconcile, RFC 3339; undefined if there is none. */
  readonly triggerTime: string | undefined;
  /** Whether the Service existed at the last reconcile: its Endpoints are deleted with it, even if a user wrote them. */
  readonly wasThere: boolean;
}

export type Action =
  | { readonly kind: 'create' | 'update'; readonly endpoints: Endpoints }
  | { readonly kind: 'delete'; readonly endpoints: Endpoints };

/**
 * The Endpoints of a Service with a selector contain the addresses of its pods, ready or not. Pods that are being deleted are left out
 * unless the Service publishes not-ready addresses. At most 1,000 addresses are kept.
 */
export function planEndpoints(observed: ObservedEndpoints): Plan<Action> {
  const { service, endpoints } = observed;
  if (service === undefined) {
    const isOurs = endpoints?.metadata.labels?.[ENDPOINTS_MANAGER_LABEL] === MANAGER || observed.wasThere;
    return { actions: endpoints === undefined || !isOurs ? [] : [{ kind: 'delete', endpoints }] };
  }
  if (!hasOwnEndpoints(service)) return { actions: [] };
  const wanted = endpointsOf(service, observed);
  if (endpoints === undefined) return { actions: [{ kind: 'create', endpoints: wanted }] };
  if (saysTheSame(endpoints, wanted)) return { actions: [] };
  return { actions: [{ kind: 'update', endpoints: wanted }] };
}

function endpointsOf(service: Service, { pods, endpoints, triggerTime }: ObservedEndpoints): Endpoints {
  const { name = '', namespace = '', labels = {} } = service.metadata;
  const all = repackSubsets(subsetsOf(service, pods));
  const { subsets, isTruncated } = truncate(all);
  const { [HEADLESS_LABEL]: _, ...own } = labels;
  const { [TRIGGER_TIME_ANNOTATION]: __, [OVER_CAPACITY]: ___, ...kept } = endpoints?.metadata.annotations ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...(endpoints?.metadata ?? { name, namespace }),
      labels: { ...own, ...(isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {}), [ENDPOINTS_MANAGER_LABEL]: MANAGER },
      annotations: {
        ...kept,
        ...(triggerTime === undefined ? {} : { [TRIGGER_TIME_ANNOTATION]: triggerTime }),
        ...(isTruncated ? { [OVER_CAPACITY]: 'truncated' } : {}),
      },
    },
    ...(subsets.length === 0 ? {} : { subsets: [...subsets] }),
  };
}

/** One subset per pod. Pods with the same ports share the list of ports. */
function subsetsOf(service: Service, pods: readonly Pod[]): readonly EndpointSubset[] {
  const { publishNotReadyAddresses: publishes = false, ports = [], clusterIP } = service.spec ?? {};
  const portsOf = portsOfPods(service);
  const lists = new Map<readonly PodPort[], EndpointPort[]>();
  return pods.flatMap((pod): EndpointSubset[] => {
    if (!isEndpoint(pod) || (pod.metadata.deletionTimestamp !== undefined && !publishes)) return [];
    const address = addressOf(service, pod);
    if (address === undefined) return [];
    const addresses = publishes || isReady(pod) ? { addresses: [address] } : { notReadyAddresses: [address] };
    if (ports.length === 0) return clusterIP === 'None' ? [addresses] : [];
    const found = portsOf(pod);
    const list = lists.get(found) ?? found.map(({ name, ...rest }) => (name === '' ? rest : { name, ...rest }));
    lists.set(found, list);
    return list.length === 0 ? [] : [{ ...addresses, ports: list }];
  });
}

function addressOf(service: Service, pod: Pod): EndpointAddress | undefined {
  const family = familyOf(service, pod);
  const ip = addressesOf(pod)
    .map((text) => canonicalIp(text))
    .find((one) => one?.family === family)?.text;
  if (ip === undefined) return undefined;
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const { nodeName } = pod.spec ?? {};
  const hostname = hostnameIn(pod, service);
  return { ip, hostname, nodeName, targetRef: { kind: 'Pod', namespace, name, uid } };
}

function familyOf({ spec }: Service, { status }: Pod): IpFamily {
  const [first] = spec?.ipFamilies ?? [];
  if (first !== undefined) return first === 'IPv6' ? 'IPv6' : 'IPv4';
  const { clusterIP = '' } = spec ?? {};
  const text = clusterIP === '' || clusterIP === 'None' ? (status?.podIP ?? '') : clusterIP;
  return canonicalIp(text)?.family ?? 'IPv4';
}

/** Whether both are equal except for the trigger time, which alone is no reason to write. Versions of pods are not part of addresses. */
function saysTheSame(endpoints: Endpoints, wanted: Endpoints): boolean {
  const capacity = ({ metadata }: Endpoints) => metadata.annotations?.[OVER_CAPACITY];
  return (
    equalJson(endpoints.metadata.labels ?? {}, wanted.metadata.labels ?? {}) &&
    capacity(endpoints) === capacity(wanted) &&
    (equalJson(endpoints.subsets ?? [], wanted.subsets ?? []) ||
      equalJson(repackSubsets(endpoints.subsets ?? []), wanted.subsets ?? []))
  );
}

/** Marks Endpoints that leave out addresses. */
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const MAX_ADDRESSES = 1000;

/** Keeps at most 1,000 addresses, ready ones first. Each subset gets its proportional share, rounded up while there is room. */
export function truncate(subsets: readonly EndpointSubset[]): {
  readonly subsets: readonly EndpointSubset[];
  readonly isTruncated: boolean;
} {
  const ready = count(subsets, 'addresses');
  const notReady = count(subsets, 'notReadyAddresses');
  if (ready + notReady <= MAX_ADDRESSES) return { subsets, isTruncated: false };
  const cutsReady = ready > MAX_ADDRESSES;
  const part = cutsReady ? 'addresses' : 'notReadyAddresses';
  const total = cutsReady ? ready : notReady;
  const max = cutsReady ? MAX_ADDRESSES : MAX_ADDRESSES - ready;
  let room = max;
  const cut = subsets.map((subset): EndpointSubset => {
    const before = subset[part] ?? [];
    const kept = before.slice(0, Math.min(room, Math.ceil((before.length / total) * max)));
    room -= kept.length;
    const { notReadyAddresses: _, ...rest } = subset;
    if (cutsReady) return { ...rest, addresses: kept };
    return kept.length === 0 ? rest : { ...rest, notReadyAddresses: kept };
  });
  const isEmpty = ({ addresses = [], notReadyAddresses = [] }: EndpointSubset) =>
    addresses.length + notReadyAddresses.length === 0;
  return { subsets: cut.filter((subset) => !isEmpty(subset)), isTruncated: true };
}

function count(subsets: readonly EndpointSubset[], part: 'addresses' | 'notReadyAddresses'): number {
  return subsets.reduce((sum, subset) => sum + (subset[part] ?? []).length, 0);
}
