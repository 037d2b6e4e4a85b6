import { ignoreReasons } from '@gantry/client';
import {
  type Cache,
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  type ReconcileKey,
  watchMapped,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  classOfClaim,
  keyOf,
  type ObjectKey,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  SELECTED_NODE,
  STORAGE_CLASSES,
} from '@gantry/objects';
import { type Action, isOurs, LOCAL_PATH_CLASS, type ObservedClaim, planLocalPath, volumeNameFor } from './plan.ts';

export interface LocalPathOptions {
  /** Whether the class `local-path` is created as the default class if it is missing, once there are nodes. */
  readonly storageClass: 'create' | 'none';
}

const CLASS_KEY: ReconcileKey = { group: 'storage.k8s.io', kind: 'StorageClass', namespace: '', name: 'local-path' };
const global = (name: string): ObjectKey => ({ namespace: '', name });

/** Provisions volumes for claims that request a folder on a node. Keys are claims, and the class. */
export function createLocalPathController({ storageClass }: LocalPathOptions): ControllerSpec {
  // Once per term: a class that is deleted afterwards is not created again.
  let shipped = storageClass === 'none';
  return {
    name: 'local-path',
    eventSource: 'rancher.io/local-path',
    watches: [
      watchSelf(PERSISTENT_VOLUME_CLAIMS),
      watchMapped(PERSISTENT_VOLUMES, ({ spec }) => {
        const { namespace = '', name = '' } = spec?.claimRef ?? {};
        return name === '' ? [] : [{ namespace, name }];
      }),
      { resource: NODES, keys: () => (shipped ? [] : [CLASS_KEY]) },
      // Only cached: a claim names its provisioner only after its class is known.
      { resource: STORAGE_CLASSES, keys: () => [] },
    ],
    begin: () => {
      shipped = storageClass === 'none';
    },
    reconcile: async (key, context, signal) => {
      if (key.kind === CLASS_KEY.kind) {
        if (!shipped) await ensureClass(context, signal);
        shipped = true;
        return {};
      }
      const claim = context.cache.get(PERSISTENT_VOLUME_CLAIMS, key);
      if (claim === undefined || !isOurs(claim)) return {};
      const plan = planLocalPath(observe(claim, context.cache));
      return await carryOut(plan, (action) => carryOutOne(action, claim, context, signal), context.clock);
    },
  };
}

async function ensureClass({ cache, client }: ControllerContext, signal: AbortSignal): Promise<void> {
  if (cache.get(STORAGE_CLASSES, CLASS_KEY) !== undefined) return;
  await ignoreReasons(client.create(STORAGE_CLASSES, LOCAL_PATH_CLASS, signal), ['AlreadyExists']);
}

function observe(claim: PersistentVolumeClaim, cache: Cache): ObservedClaim {
  const volumeName = claim.spec?.volumeName ?? '';
  return {
    claim,
    volume: cache.get(PERSISTENT_VOLUMES, global(volumeName === '' ? volumeNameFor(claim) : volumeName)),
    storageClass: cache.get(STORAGE_CLASSES, global(classOfClaim(claim))),
    node: cache.get(NODES, global(claim.metadata.annotations?.[SELECTED_NODE] ?? '')),
  };
}

async function carryOutOne(
  action: Action,
  claim: PersistentVolumeClaim,
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  switch (action.kind) {
    case 'createVolume':
      // The cache may be behind. An existing volume with this name was created for the same claim.
      await ignoreReasons(client.create(PERSISTENT_VOLUMES, action.volume, signal), ['AlreadyExists']);
      return;
    case 'unselectNode': {
      const { uid, resourceVersion } = claim.metadata;
      const merge = { metadata: { uid, resourceVersion, annotations: { [SELECTED_NODE]: null } } };
      await ignoreReasons(client.patch(PERSISTENT_VOLUME_CLAIMS, keyOf(claim), { merge }, signal), ['NotFound']);
      return;
    }
    case 'growVolume':
      await client.update(PERSISTENT_VOLUMES, action.volume, signal);
      return;
    case 'updateClaimStatus':
      await client.updateStatus(PERSISTENT_VOLUME_CLAIMS, action.claim, signal);
      return;
    case 'event':
      events.event(claim, action.type, action.reason, action.message);
      return;
  }
}
