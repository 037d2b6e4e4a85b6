import type { Cache, WatchSpec } from '@gantry/controller-runtime';
import {
  controllerReference,
  dns1123Subdomain,
  ENDPOINT_SLICES,
  type EndpointSlice,
  equalJson,
  type KubeObject,
  type ObjectKey,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER_LABEL,
} from '@gantry/objects';
import type { SliceChanges } from './packing.ts';

/** A write of a slice. */
export type SliceAction =
  | { readonly kind: 'create'; readonly slice: EndpointSlice }
  | { readonly kind: 'update'; readonly slice: EndpointSlice }
  | { readonly kind: 'delete'; readonly slice: EndpointSlice };

/** The slices that this manager keeps for a Service, sorted by name, without those being deleted. */
export function slicesOf({ namespace, name }: ObjectKey, manager: string, cache: Cache): readonly EndpointSlice[] {
  const labels = { [SERVICE_NAME_LABEL]: name, [SLICE_MANAGER_LABEL]: manager };
  return cache
    .labelled(ENDPOINT_SLICES, namespace, { [SERVICE_NAME_LABEL]: name })
    .filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined &&
        Object.entries(labels).every(([label, value]) => metadata.labels?.[label] === value),
    )
    .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}

/** Queues the Service of a changed slice of this manager, unless the change is the manager's own write. */
export function watchSlices(manager: string, isOwnWrite: (slice: KubeObject) => boolean): WatchSpec<EndpointSlice> {
  const keyOf = (slice: EndpointSlice | undefined): readonly ObjectKey[] => {
    const { namespace = '', labels = {} } = slice?.metadata ?? {};
    const { [SERVICE_NAME_LABEL]: name = '', [SLICE_MANAGER_LABEL]: by } = labels;
    return name === '' || by !== manager ? [] : [{ namespace, name }];
  };
  return {
    resource: ENDPOINT_SLICES,
    keys: (slice, old) => {
      if (slice !== undefined && isOwnWrite(slice)) return [];
      const [now, before] = [keyOf(slice), keyOf(old)];
      return equalJson(now, before) ? now : [...before, ...now];
    },
  };
}

/** A slice without endpoints whose name begins with that of the Service. */
export function newSlice(
  owner: KubeObject,
  addressType: string,
  ports: EndpointSlice['ports'] & object,
  metadata: Pick<EndpointSlice['metadata'], 'labels' | 'annotations'>,
): EndpointSlice {
  const { name = '', namespace = '' } = owner.metadata;
  const prefix = `${name}-`;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      // The prefix is validated as a name prefix, which may end with a dash.
      generateName: dns1123Subdomain(`${prefix}a`).length === 0 ? prefix : name,
      namespace,
      ...metadata,
      ownerReferences: [controllerReference(owner)],
    },
    addressType,
    endpoints: [],
    ports: [...ports],
  };
}

/** Turns creations into updates of slices that would be deleted: this needs fewer writes, and clients see no gap. */
export function reuseSlices(
  { create, update, remove }: SliceChanges,
  isReusable: (slice: EndpointSlice) => boolean,
): SliceChanges {
  const left = [...create];
  const updates = [...update];
  const removed = remove.filter((slice) => {
    const next = left.at(-1);
    if (next === undefined || next.addressType !== slice.addressType || !isReusable(slice)) return true;
    left.pop();
    const { generateName: _, ...metadata } = next.metadata;
    const { annotations: __, labels: ___, ...kept } = slice.metadata;
    updates.push({ ...next, metadata: { ...kept, ...metadata } });
    return false;
  });
  return { create: left, update: updates, remove: removed };
}

/** The writes of changes in Kubernetes' order. Nothing is created for an owner that is being deleted. */
export function sliceActions(owner: KubeObject, { create, update, remove }: SliceChanges): readonly SliceAction[] {
  const creates = owner.metadata.deletionTimestamp === undefined ? create : [];
  return [
    ...creates.map((slice) => ({ kind: 'create', slice }) as const),
    ...update.map((slice) => ({ kind: 'update', slice }) as const),
    ...remove.map((slice) => ({ kind: 'delete', slice }) as const),
  ];
}
