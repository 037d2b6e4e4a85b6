import { append, type Plan } from '@gantry/base';
import {
  type DiscoveryEndpointPort,
  type Endpoint,
  type EndpointSlice,
  equalJson,
  type Node,
  type Pod,
  type Service,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER_LABEL,
  TRIGGER_TIME_ANNOTATION,
} from '@gantry/objects';
import { packSlices, type SliceChanges } from '../../libraries/service-endpoints/packing.ts';
import {
  hasOwnEndpoints,
  HEADLESS_LABEL,
  isEndpoint,
  isHeadless,
} from '../../libraries/service-endpoints/service-pods.ts';
import { type PodPort, portsOfPods, sortSlicePorts } from '../../libraries/service-endpoints/service-ports.ts';
import { newSlice, reuseSlices, type SliceAction, sliceActions } from '../../libraries/service-endpoints/slices.ts';
import { hasRightHints, hintMode, hintsByShare, withHints } from './hints.ts';
import { type AddressType, addressTypesOf, endpointOf } from './pod-endpoint.ts';
import { shareHints } from './share-hints.ts';
import type { ZoneShares } from './zone-shares.ts';

/** Label value of slices that this controller manages. */
export const MANAGER = 'endpointslice-controller.k8s.io';
/** The maximum number of endpoints per slice. */
export const MAX_ENDPOINTS = 100;
const OWN_LABELS = new Set([SERVICE_NAME_LABEL, SLICE_MANAGER_LABEL, HEADLESS_LABEL]);

/** The input of the plan. */
export interface ObservedSlices {
  readonly service: Service;
  /** The pods that the Service selects. */
  readonly pods: readonly Pod[];
  /** The nodes of these pods, by name. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** The slices that this controller manages for the Service. */
  readonly slices: readonly EndpointSlice[];
  /** The shares of zones, for a Service with hints by shares. */
  readonly shares?: ZoneShares | undefined;
  /** The last report about such hints, by address type. */
  readonly hintReports?: ReadonlyMap<AddressType, string>;
  /** The time of the change that caused this reconcile, RFC 3339; undefined if there is none. */
  readonly triggerTime: string | undefined;
}

export type Action = SliceAction;

/** An Event about hints by the shares of zones. */
export interface HintReport {
  readonly addressType: AddressType;
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled';
  readonly message: string;
}

/**
 * The slices of a Service with a selector contain its pods as endpoints, including those that are not ready or are being deleted: at most
 * 100 each, grouped by address type and ports. A Service without endpoints has one empty slice. Pods whose node is unknown are left out,
 * unless the Service publishes not-ready addresses.
 */
export function planSlices(observed: ObservedSlices): Plan<Action> {
  const { service, slices } = observed;
  if (!hasOwnEndpoints(service)) return { actions: [] };
  const types = addressTypesOf(service);
  const others = slices.filter(({ addressType }) => !types.some((type) => type === addressType));
  const actions = types.flatMap((type) => actionsOfType(observed, type));
  return { actions: [...actions, ...others.map((slice) => ({ kind: 'delete', slice }) as const)] };
}

/** New reports about hints by shares of zones: that they are enabled, or why they are not. */
export function planHintReports(observed: ObservedSlices): readonly HintReport[] {
  const { service, shares, hintReports } = observed;
  if (!hasOwnEndpoints(service)) return [];
  return addressTypesOf(service).flatMap((addressType) => {
    const last = hintReports?.get(addressType);
    const enabled = hintReport(addressType, 'Enabled', 'Topology Aware Hints has been enabled');
    if (!hintsByShare(service)) {
      const disabled = hintReport(addressType, 'Disabled', 'Topology Aware Hints has been disabled');
      return last === enabled.message ? [disabled] : [];
    }
    const { existing, changes } = pack(observed, addressType);
    const shared = shareHints(shares, changes, untouched(existing, changes));
    const now = 'refused' in shared ? hintReport(addressType, 'Disabled', shared.refused) : enabled;
    return last === now.message ? [] : [now];
  });
}

function hintReport(addressType: AddressType, what: 'Enabled' | 'Disabled', text: string): HintReport {
  const type = what === 'Enabled' ? 'Normal' : 'Warning';
  const message = `${text}, addressType: ${addressType}`;
  return { addressType, type, reason: `TopologyAwareHints${what}`, message };
}

/** The pods that are left out because their node is unknown. */
export function podsWithoutNode({ service, pods, nodes }: ObservedSlices): readonly Pod[] {
  if (!hasOwnEndpoints(service) || service.spec?.publishNotReadyAddresses === true) return [];
  return pods.filter((pod) => isEndpoint(pod) && !nodes.has(pod.spec?.nodeName ?? ''));
}

function actionsOfType(observed: ObservedSlices, addressType: AddressType): readonly Action[] {
  const { service, shares, triggerTime } = observed;
  const packed = pack(observed, addressType);
  const hinted = giveHints(service, shares, packed);
  const changes = reuseSlices(hinted, (slice) => isOwnedBy(slice, service));
  const stamp = (slice: EndpointSlice) => stamped(slice, triggerTime);
  return sliceActions(service, {
    create: changes.create.map(stamp),
    update: changes.update.map(stamp),
    remove: changes.remove,
  });
}

/** The slices of an address type, and their changes except for hints. */
interface Packed {
  readonly existing: readonly EndpointSlice[];
  readonly changes: SliceChanges;
}

function pack(observed: ObservedSlices, addressType: AddressType): Packed {
  const existing = observed.slices.filter((slice) => slice.addressType === addressType);
  const owned = existing.filter((slice) => isOwnedBy(slice, observed.service));
  const foreign = existing.filter((slice) => !owned.includes(slice));
  const changes = packByPorts(observed, addressType, owned, foreign);
  return { existing, changes: withPlaceholder(observed, addressType, existing, changes) };
}

/** Sets the hints that the Service uses; none if zones cannot get their shares. */
function giveHints(service: Service, shares: ZoneShares | undefined, { existing, changes }: Packed): SliceChanges {
  if (!hintsByShare(service)) return applyHints(service, existing, changes);
  const shared = shareHints(shares, changes, untouched(existing, changes));
  return 'refused' in shared ? applyHints(service, existing, changes) : shared;
}

/** The slices that the changes do not affect. */
function untouched(existing: readonly EndpointSlice[], { update, remove }: SliceChanges): readonly EndpointSlice[] {
  const touched = new Set([...update, ...remove].map(({ metadata }) => metadata.name));
  return existing.filter((slice) => !touched.has(slice.metadata.name));
}

function packByPorts(
  observed: ObservedSlices,
  addressType: AddressType,
  owned: readonly EndpointSlice[],
  foreign: readonly EndpointSlice[],
): SliceChanges {
  const { service } = observed;
  const labels = labelsOf(service);
  const wanted = wantedByPorts(observed, addressType);
  const existing = Map.groupBy(owned, ({ ports }) => portsKey(ports ?? []));
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove = [...foreign];
  for (const [key, { ports, endpoints }] of wanted) {
    const fresh = () => newSlice(service, addressType, [...ports], { labels: { ...labels } });
    const packed = packSlices(existing.get(key) ?? [], endpoints, { max: MAX_ENDPOINTS, labels, newSlice: fresh });
    append(create, packed.create);
    append(update, packed.update);
    append(remove, packed.remove);
  }
  for (const [key, slices] of existing) if (!wanted.has(key)) append(remove, slices);
  return { create, update, remove };
}

interface Wanted {
  readonly ports: readonly DiscoveryEndpointPort[];
  readonly endpoints: Endpoint[];
}

/** Endpoints grouped by the ports of their pods. */
function wantedByPorts(
  { service, pods, nodes }: ObservedSlices,
  addressType: AddressType,
): ReadonlyMap<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  const groups = new Map<readonly PodPort[], Wanted>();
  const portsOf = portsOfPods(service);
  for (const pod of pods) {
    if (!isEndpoint(pod)) continue;
    const found = portsOf(pod);
    const group = groups.get(found) ?? groupOf(wanted, found);
    groups.set(found, group);
    const node = nodes.get(pod.spec?.nodeName ?? '');
    if (node === undefined && service.spec?.publishNotReadyAddresses !== true) continue;
    const endpoint = endpointOf(service, pod, node, addressType);
    if (endpoint !== undefined) group.endpoints.push(endpoint);
  }
  return wanted;
}

function groupOf(wanted: Map<string, Wanted>, found: readonly DiscoveryEndpointPort[]): Wanted {
  const ports = sortSlicePorts(found);
  const key = portsKey(ports);
  const group = wanted.get(key) ?? { ports, endpoints: [] };
  wanted.set(key, group);
  return group;
}

/**
 * A Service without endpoints has one empty slice. When all its slices would be deleted, a single one that is empty already is kept, and
 * otherwise an empty one is created.
 */
function withPlaceholder(
  { service }: ObservedSlices,
  addressType: AddressType,
  existing: readonly EndpointSlice[],
  changes: SliceChanges,
): SliceChanges {
  const { create, remove } = changes;
  if (remove.length !== existing.length || create.length > 0) return changes;
  const placeholder = newSlice(service, addressType, [], { labels: labelsOf(service) });
  const [only] = remove;
  if (only !== undefined && remove.length === 1 && isPlaceholder(only, placeholder)) return { ...changes, remove: [] };
  return { ...changes, create: [placeholder] };
}

function isPlaceholder(slice: EndpointSlice, placeholder: EndpointSlice): boolean {
  return (
    (slice.endpoints ?? []).length === 0 &&
    (slice.ports ?? []).length === 0 &&
    equalJson(slice.metadata.labels ?? {}, placeholder.metadata.labels ?? {})
  );
}

/** Sets the Service's hints on every slice that is written, and also writes slices with wrong hints. */
function applyHints(service: Service, existing: readonly EndpointSlice[], changes: SliceChanges): SliceChanges {
  const mode = hintMode(service);
  const { create, update, remove } = changes;
  const wrong = untouched(existing, changes).filter((slice) => !hasRightHints(slice, mode));
  return {
    create: create.map((slice) => withHints(slice, mode)),
    update: [...update, ...wrong].map((slice) => withHints(slice, mode)),
    remove,
  };
}

function stamped(slice: EndpointSlice, triggerTime: string | undefined): EndpointSlice {
  const { [TRIGGER_TIME_ANNOTATION]: _, ...rest } = slice.metadata.annotations ?? {};
  const annotations = { ...rest, ...(triggerTime === undefined ? {} : { [TRIGGER_TIME_ANNOTATION]: triggerTime }) };
  return { ...slice, metadata: { ...slice.metadata, annotations } };
}

function isOwnedBy({ metadata }: EndpointSlice, service: Service): boolean {
  return (
    metadata.ownerReferences?.some(
      ({ uid, kind, apiVersion }) => uid === service.metadata.uid && kind === 'Service' && apiVersion === 'v1',
    ) === true
  );
}

function labelsOf(service: Service): Record<string, string> {
  const { name = '', labels = {} } = service.metadata;
  return {
    ...Object.fromEntries(Object.entries(labels).filter(([label]) => !OWN_LABELS.has(label))),
    ...(isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {}),
    [SERVICE_NAME_LABEL]: name,
    [SLICE_MANAGER_LABEL]: MANAGER,
  };
}

function portsKey(ports: readonly DiscoveryEndpointPort[]): string {
  return JSON.stringify(
    ports
      .map(({ name = '', port, protocol, appProtocol }) =>
        JSON.stringify([name, port ?? null, protocol ?? null, appProtocol ?? null]),
      )
      .sort(),
  );
}
