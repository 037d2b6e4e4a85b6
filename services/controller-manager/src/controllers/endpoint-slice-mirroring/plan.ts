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

/** Label value of slices that this controller manages. */
export const MANAGER = 'endpointslicemirroring-controller.k8s.io';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
/** The maximum number of endpoints per slice. */
export const MAX_ENDPOINTS = 1000;
/**
 * The maximum number of mirrored ports with the same name per subset. Each needs separate slices with all addresses of the subset: without
 * a limit, an object with 20,000 such ports and 1,000 addresses would create 20,000,000 endpoints.
 */
export const MAX_PORTS_OF_NAME = 16;

/** The input of the plan. */
export interface ObservedMirror {
  readonly endpoints: Endpoints | undefined;
  /** The Service of the same name. */
  readonly service: Service | undefined;
  /** The slices that this controller manages for it. */
  readonly slices: readonly EndpointSlice[];
}

export type Action = SliceAction;

/**
 * Something that was not mirrored. For addresses, the message is Kubernetes'; for ports there is none, because Kubernetes limits only
 * addresses.
 */
export interface Skipped {
  readonly reason: 'InvalidIPAddress' | 'TooManyAddressesToMirror' | 'TooManyPortsToMirror';
  readonly message: string;
}

/**
 * The addresses of Endpoints, grouped by ports and family, for the plan and for its reports. Grouped only once, because an object may have
 * tens of thousands of ports. Undefined if nothing is to be mirrored.
 */
export function groupMirror(observed: ObservedMirror): GroupedMirror | undefined {
  const endpoints = mirrored(observed);
  return endpoints === undefined ? undefined : { endpoints, ...groupAddresses(endpoints) };
}

/**
 * Mirrors user-managed Endpoints of a Service without a selector into slices: one per set of ports and address type, with at most 1,000
 * addresses, and with the labels and annotations of the Endpoints.
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

/** The number of addresses that the plan leaves out, and the reports about left-out addresses and ports. */
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

/** The Endpoints if they are to be mirrored. */
function mirrored({ endpoints, service }: ObservedMirror): Endpoints | undefined {
  if (endpoints === undefined || service === undefined || selectsPods(service.spec)) return undefined;
  return isMirrored(endpoints) ? endpoints : undefined;
}

/** Whether Endpoints may be mirrored, regardless of their Service. */
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

/** Endpoints to mirror, with their addresses by ports and family, and the numbers of left-out items. */
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
        // The lists of a subset share one map, which is not modified.
        const all = known === undefined ? endpoints : new Map([...known.endpoints, ...endpoints]);
        groups.set(key, { addressType, ports: list, endpoints: all });
      }
    }
  }
  return { groups, invalid, skipped, skippedPorts };
}

/**
 * The addresses of a subset up to `MAX_ENDPOINTS`, ready ones first. Left-out addresses are counted; invalid ones count in both numbers.
 */
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
 * Splits ports into lists with distinct names, as slices require. Subsets with the same addresses may give a name several port numbers:
 * each is mirrored, up to `MAX_PORTS_OF_NAME`. Kubernetes' controller tries forever to write an invalid slice instead. The left-out ports
 * are counted, and are the same at each reconcile because the ports are sorted.
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
