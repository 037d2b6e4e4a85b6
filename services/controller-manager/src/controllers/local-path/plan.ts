import type { Plan } from '@gantry/base';
import {
  BOUND_BY_CONTROLLER,
  classOfClaim,
  compareQuantity,
  DEFAULT_STORAGE_CLASS,
  ENGINE_LABEL,
  LOCAL_PATH,
  localPathOf,
  type Node,
  parseQuantity,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  type StorageClass,
  VOLUME_NODE_LABEL,
} from '@gantry/objects';

export type Action =
  | { readonly kind: 'createVolume'; readonly volume: PersistentVolume }
  /** Removes the scheduler's choice of node, so that it chooses again. */
  | { readonly kind: 'unselectNode'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'growVolume'; readonly volume: PersistentVolume }
  | { readonly kind: 'updateClaimStatus'; readonly claim: PersistentVolumeClaim }
  | {
      readonly kind: 'event';
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    };

/** A claim and the objects that affect it. */
export interface ObservedClaim {
  readonly claim: PersistentVolumeClaim;
  /** The volume that it names, else the one provisioned for it. */
  readonly volume: PersistentVolume | undefined;
  readonly storageClass: StorageClass | undefined;
  /** The node that the scheduler selected. */
  readonly node: Node | undefined;
}

const ACCESS_MODES = ['ReadWriteOnce', 'ReadWriteOncePod'];

/** The default class. */
export const LOCAL_PATH_CLASS: StorageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: {
    name: 'local-path',
    annotations: { [DEFAULT_STORAGE_CLASS]: 'true' },
  },
  provisioner: LOCAL_PATH,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
};

/** The name of the volume for a claim, as Kubernetes' provisioners name it. */
export function volumeNameFor({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid ?? ''}`;
}

/** Whether this provisioner is responsible for the claim. */
export function isOurs({ metadata }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.[STORAGE_PROVISIONER] === LOCAL_PATH;
}

/** Creates the volume of a claim on the selected node, and expands a bound one to the requested size. */
export function planLocalPath(observed: ObservedClaim): Plan<Action> {
  const { claim, volume } = observed;
  if (!isOurs(claim)) return { actions: [] };
  if ((claim.spec?.volumeName ?? '') !== '') return { actions: planExpansion(observed) };
  const isWanted = claim.metadata.deletionTimestamp === undefined && volume === undefined;
  return { actions: isWanted ? planProvisioning(observed) : [] };
}

function planProvisioning({ claim, storageClass, node }: ObservedClaim): readonly Action[] {
  if (storageClass?.provisioner !== LOCAL_PATH) return [];
  const selected = claim.metadata.annotations?.[SELECTED_NODE];
  if (selected !== undefined && node === undefined) return [{ kind: 'unselectNode', claim }];
  const why = whyRefused(claim, selected);
  if (why !== undefined || node === undefined) {
    const failed = `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata.name)}: ${why}`;
    return [{ kind: 'event', type: 'Warning', reason: 'ProvisioningFailed', message: failed }];
  }
  const volume = newVolume(claim, storageClass, node);
  const { namespace = '', name = '' } = claim.metadata;
  const about = `External provisioner is provisioning volume for claim "${namespace}/${name}"`;
  const done = `Successfully provisioned volume ${volume.metadata.name}`;
  return [
    { kind: 'event', type: 'Normal', reason: 'Provisioning', message: about },
    { kind: 'createVolume', volume },
    { kind: 'event', type: 'Normal', reason: 'ProvisioningSucceeded', message: done },
  ];
}

/** The reason for rejecting a claim, as the local-path provisioner words it. */
function whyRefused({ spec }: PersistentVolumeClaim, node: string | undefined): string | undefined {
  if (spec?.selector !== undefined) return 'claim.Spec.Selector is not supported';
  if ((spec?.accessModes ?? []).some((mode) => !ACCESS_MODES.includes(mode)))
    return 'NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes';
  if (spec?.volumeMode === 'Block') return 'Block volumes are not supported';
  if (spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined) return 'data sources are not supported';
  return node === undefined ? 'configuration error, no node was specified' : undefined;
}

function newVolume(claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node): PersistentVolume {
  const name = volumeNameFor(claim);
  const { namespace = '', name: claimName = '', uid = '', resourceVersion } = claim.metadata;
  const hostname = node.metadata.labels?.[VOLUME_NODE_LABEL] ?? node.metadata.name ?? '';
  const engine = node.metadata.labels?.[ENGINE_LABEL];
  const requirement = { key: VOLUME_NODE_LABEL, operator: 'In', values: [hostname] };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      labels: { [VOLUME_NODE_LABEL]: hostname, ...(engine === undefined ? {} : { [ENGINE_LABEL]: engine }) },
      annotations: { [PROVISIONED_BY]: LOCAL_PATH, [BOUND_BY_CONTROLLER]: 'yes' },
    },
    spec: {
      capacity: { storage: requestOf(claim) },
      accessModes: [...(claim.spec?.accessModes ?? [])],
      volumeMode: 'Filesystem',
      storageClassName: classOfClaim(claim),
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name: claimName, uid, resourceVersion },
      local: { path: localPathOf(name) },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } },
    },
  };
}

/** Expands a volume. A folder has no size, so the volume just gets the requested size, and then the claim shows it. */
function planExpansion({ claim, volume }: ObservedClaim): readonly Action[] {
  if (volume?.spec?.claimRef === undefined || claim.status?.phase !== 'Bound') return [];
  if (volume.spec.claimRef.uid !== claim.metadata.uid) return [];
  if (volume.metadata.annotations?.[PROVISIONED_BY] !== LOCAL_PATH) return [];
  const request = requestOf(claim);
  if (compare(request, claim.status.capacity?.['storage'] ?? '0') <= 0) return [];
  const capacity = { ...volume.spec.capacity, storage: request };
  const status = { ...claim.status, capacity: { ...claim.status.capacity, storage: request } };
  const name = volume.metadata.name ?? '';
  return [
    { kind: 'event', type: 'Normal', reason: 'Resizing', message: `External resizer is resizing volume ${name}` },
    ...(compare(request, volume.spec.capacity?.['storage'] ?? '0') > 0
      ? [{ kind: 'growVolume' as const, volume: { ...volume, spec: { ...volume.spec, capacity } } }]
      : []),
    { kind: 'updateClaimStatus', claim: { ...claim, status } },
    { kind: 'event', type: 'Normal', reason: 'VolumeResizeSuccessful', message: 'Resize volume succeeded' },
  ];
}

function requestOf({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.['storage'] ?? '0';
}

function compare(a: string, b: string): number {
  return compareQuantity(parseQuantity(a), parseQuantity(b));
}
