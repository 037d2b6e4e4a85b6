import { append, type Plan } from '@gantry/base';
import { canonicalIp } from '@gantry/kinds';
import {
  type Endpoint,
  type EndpointAddress,
  type Endpoints,
  type EndpointSlice,
  type EndpointSubset,
  equalJson,
  LAST_APPLIED_ANNOTATION,
  type Service,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGER_LABEL,
  TRIGGER_TIME_ANNOTATION,
} from '@gantry/objects';
import { endpointId, equalEndpoints, type SliceChanges } from '../../libraries/service-endpoints/packing.ts';
import { selectsPods } from '../../libraries/service-endpoints/service-pods.ts';
import { sortSlicePorts } from '../../libraries/service-endpoints/service-ports.ts';
import { newSlice, reuseSlices, type SliceAction, sliceActions } from '../../libraries/service-endpoints/slices.ts';
import { repackSubsets } from '../../libraries/service-endpoints/subsets.ts';

/** The value of the label of slices that this controller keeps. */
export const MANAGER = 'endpointslicemirroring-controller.k8s.io';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
/** How many endpoints a slice holds. */
export const MAX_ENDPOINTS = 1000;
/**
 * How many ports of the same name are mirrored for each subset. Each needs slices of its own with all addresses of the subset:
 * without a bound, an object of 20,000 such ports and 1,000 addresses would make 20,000,000 endpoints.
 */
export const MAX_PORTS_OF_NAME = 16;

/** What the plan looks at. */
export interface ObservedMirror {
  readonly endpoints: Endpoints | undefined;
  /** The Service of the same name. */
  readonly service: Service | undefined;
  /** The slices that this controller keeps for it. */
  readonly slices: readonly EndpointSlice[];
}

export type Action = SliceAction;

/** What was left out; of addresses in Kubernetes' words. It has none for ports: its controller bounds only addresses. */
export interface Skipped {
  readonly reason: 'InvalidIPAddress' | 'TooManyAddressesToMirror' | 'TooManyPortsToMirror';
  readonly message: string;
}

/**
 * The addresses of Endpoints by their ports and family, for the plan and for what it leaves out: an object may have tens of
 * thousands of ports, so they are grouped once. Undefined when nothing is to be mirrored.
 */
export function groupMirror(observed: ObservedMirror): GroupedMirror | undefined {
  const endpoints = mirrored(observed);
  return endpoints === undefined ? undefined : { endpoints, ...groupAddresses(endpoints) };
}

/**
 * Endpoints that a user keeps for a Service without a selector are mirrored by slices: one for each set of ports and address
 * type, with at most 1,000 addresses, and with the labels and annotations of the Endpoints.
 */
export function planMirror({ slices }: ObservedMirror, grouped: GroupedMirror | undefined): Plan<Action> {
  if (grouped === undefined) return { actions: slices.map((slice) => ({ kind: 'delete', slice })) };
  const { endpoints, groups } = grouped;
  const existing = Map.groupBy(slices, (slice) => keyOf(slice.addressType, slice.ports ?? []));
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const [key, of] of existing) if (!groups.has(key)) append(remove, of);
  for (const [key, wanted] of groups) {
    const [first, ...rest] = existing.get(key) ?? [];
    append(remove, rest);
    const slice = sliceOf(endpoints, wanted);
    if (first === undefined) create.push(slice);
    else if (!saysTheSame(first, slice)) update.push(replacing(first, slice));
  }
  const changes: SliceChanges = { create, update, remove };
  return {
    actions: sliceActions(
      endpoints,
      reuseSlices(changes, () => true),
    ),
  };
}

/** What the plan leaves out: how many addresses, and how these and ports are reported. */
export function skippedAddresses(grouped: GroupedMirror | undefined): {
  readonly addresses: number;
  readonly reports: readonly Skipped[];
} {
  if (grouped === undefined) return { addresses: 0, reports: [] };
  const { invalid, skipped, skippedPorts } = grouped;
  const reports: Skipped[] = [];
  if (invalid > 0) {
    const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
    reports.push({ reason: 'InvalidIPAddress', message });
  }
  if (skipped > invalid) {
    const message = `A max of ${MAX_ENDPOINTS} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
    reports.push({ reason: 'TooManyAddressesToMirror', message });
  }
  if (skippedPorts > 0) {
    const message = `A max of ${MAX_PORTS_OF_NAME} ports of a name can be mirrored to EndpointSlices per Endpoints subset. ${skippedPorts} ports were skipped`;
    reports.push({ reason: 'TooManyPortsToMirror', message });
  }
  return { addresses: skipped, reports };
}

/** The Endpoints, when they are to be mirrored. */
function mirrored({ endpoints, service }: ObservedMirror): Endpoints | undefined {
  if (endpoints === undefined || service === undefined || selectsPods(service.spec)) return undefined;
  return isMirrored(endpoints) ? endpoints : undefined;
}

/** Whether Endpoints may be mirrored, by themselves. */
export function isMirrored({ metadata }: Endpoints): boolean {
  return metadata.labels?.[SKIP_MIRROR_LABEL] !== 'true' && metadata.annotations?.[LEADER_ANNOTATION] === undefined;
}

type AddressType = 'IPv4' | 'IPv6';

/** By `endpointId`. */
type EndpointsById = ReadonlyMap<string, Endpoint>;

interface Group {
  readonly addressType: AddressType;
  readonly ports: EndpointSlice['ports'] & object;
  readonly endpoints: EndpointsById;
}

/** Endpoints that are mirrored, with their addresses by ports and family, and the numbers of what is left out. */
export interface GroupedMirror {
  readonly endpoints: Endpoints;
  readonly groups: ReadonlyMap<string, Group>;
  readonly invalid: number;
  readonly skipped: number;
  readonly skippedPorts: number;
}

function groupAddresses({ subsets = [] }: Endpoints): Omit<GroupedMirror, 'endpoints'> {
  const groups = new Map<string, Group>();
  let invalid = 0;
  let skipped = 0;
  let skippedPorts = 0;
  for (const subset of repackSubsets(subsets)) {
    const addresses = endpointsOf(subset);
    const ports = byDistinctNames(portsOf(subset));
    invalid += addresses.invalid;
    skipped += addresses.skipped;
    skippedPorts += ports.skipped;
    for (const [addressType, endpoints] of addresses.byFamily) {
      for (const list of ports.lists) {
        const key = keyOf(addressType, list);
        const known = groups.get(key);
        // The lists of a subset share one map, which is not changed.
        const all = known === undefined ? endpoints : new Map([...known.endpoints, ...endpoints]);
        groups.set(key, { addressType, ports: list, endpoints: all });
      }
    }
  }
  return { groups, invalid, skipped, skippedPorts };
}

/** The addresses of a subset up to `MAX_ENDPOINTS`, ready ones first; those that are left out are counted, invalid ones in both numbers. */
function endpointsOf({ addresses = [], notReadyAddresses = [] }: EndpointSubset): {
  readonly byFamily: ReadonlyMap<AddressType, EndpointsById>;
  readonly invalid: number;
  readonly skipped: number;
} {
  const byFamily = new Map<AddressType, Map<string, Endpoint>>();
  let invalid = 0;
  let count = 0;
  const all = [
    ...addresses.map((address) => [address, true] as const),
    ...notReadyAddresses.map((address) => [address, false] as const),
  ];
  for (const [address, ready] of all) {
    if (count >= MAX_ENDPOINTS) break;
    const ip = canonicalIp(address.ip);
    if (ip === undefined) {
      invalid++;
      continue;
    }
    const endpoint = endpointOf(address, ip.text, ready);
    const family = byFamily.get(ip.family) ?? new Map<string, Endpoint>();
    byFamily.set(ip.family, family);
    family.set(endpointId(endpoint), endpoint);
    count++;
  }
  return { byFamily, invalid, skipped: all.length - count };
}

function portsOf({ ports = [] }: EndpointSubset): EndpointSlice['ports'] & object {
  return [...sortSlicePorts(ports.map(({ name = '', ...port }) => ({ name, ...port })))];
}

/**
 * Lists in which each name stands once, as in a slice. Subsets with the same addresses may give a name several numbers: each is
 * mirrored, up to `MAX_PORTS_OF_NAME`, where Kubernetes' controller tries without end to write a slice that is invalid. Those that
 * are left out are the same at each reconcile, because the ports are sorted; they are counted.
 */
function byDistinctNames(ports: Group['ports']): {
  readonly lists: readonly Group['ports'][];
  readonly skipped: number;
} {
  const lists: Group['ports'][] = [[]];
  const counts = new Map<string, number>();
  let skipped = 0;
  for (const port of ports) {
    const { name = '' } = port;
    const index = counts.get(name) ?? 0;
    if (index >= MAX_PORTS_OF_NAME) {
      skipped++;
      continue;
    }
    counts.set(name, index + 1);
    const list = lists[index];
    if (list === undefined) lists.push([port]);
    else list.push(port);
  }
  return { lists, skipped };
}

function endpointOf({ nodeName, hostname = '', targetRef }: EndpointAddress, ip: string, ready: boolean): Endpoint {
  return { addresses: [ip], conditions: { ready }, hostname: hostname || undefined, nodeName, targetRef };
}

function sliceOf(endpoints: Endpoints, { addressType, ports, endpoints: wanted }: Group): EndpointSlice {
  const { labels = {}, annotations = {}, name = '' } = endpoints.metadata;
  const { [TRIGGER_TIME_ANNOTATION]: _, [LAST_APPLIED_ANNOTATION]: __, ...kept } = annotations;
  const metadata = {
    labels: { ...labels, [SERVICE_NAME_LABEL]: name, [SLICE_MANAGER_LABEL]: MANAGER },
    annotations: kept,
  };
  const slice = newSlice(endpoints, addressType, ports, metadata);
  return { ...slice, endpoints: [...wanted.values()].slice(0, MAX_ENDPOINTS) };
}

function saysTheSame(slice: EndpointSlice, wanted: EndpointSlice): boolean {
  const before = new Map((slice.endpoints ?? []).map((endpoint) => [endpointId(endpoint), endpoint]));
  const endpoints = wanted.endpoints ?? [];
  const isSame = (endpoint: Endpoint) => {
    const old = before.get(endpointId(endpoint));
    return old !== undefined && equalEndpoints(old, endpoint);
  };
  return (
    before.size === endpoints.length &&
    endpoints.every(isSame) &&
    equalJson(slice.metadata.labels ?? {}, wanted.metadata.labels ?? {}) &&
    equalJson(slice.metadata.annotations ?? {}, wanted.metadata.annotations ?? {}) &&
    equalJson(slice.metadata.ownerReferences ?? [], wanted.metadata.ownerReferences ?? [])
  );
}

function replacing({ metadata }: EndpointSlice, slice: EndpointSlice): EndpointSlice {
  const { labels = {}, annotations = {}, ownerReferences = [] } = slice.metadata;
  return { ...slice, metadata: { ...metadata, labels, annotations, ownerReferences } };
}

function keyOf(addressType: string, ports: EndpointSlice['ports'] & object): string {
  const printed = ports.map(({ name = '', port, protocol, appProtocol }) =>
    JSON.stringify([name, port ?? null, protocol ?? null, appProtocol ?? null]),
  );
  return `${addressType} ${printed.sort().join(' ')}`;
}
