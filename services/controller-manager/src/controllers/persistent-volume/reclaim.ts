import { type PersistentVolume, PROVISIONED_BY } from '@gantry/objects';
import { type Action, eventAbout, type Write } from './action.ts';
import { planPhase } from './bind.ts';
import { driverOf, isInTree, MIGRATED_TO, migratedAnnotations } from './provision.ts';
import { isRecyclable, planRecycling, type Recycler } from './recycle.ts';

/** Finalizer that keeps a volume of a built-in provisioner until its storage is deleted. */
const IN_TREE_PROTECTION = 'kubernetes.io/pv-controller';
const EXTERNAL_PROTECTION = 'external-provisioner.volume.kubernetes.io/finalizer';

/** Pods related to a volume whose claim is gone. */
export interface Remains {
  /** The pods that still use it. */
  readonly users: readonly string[];
  /** The pod that empties it. */
  readonly recycler: Recycler;
}

/** Releases a volume whose claim is gone, then applies its reclaim policy. */
export function planReclaim(volume: PersistentVolume, remains: Remains): readonly Action[] {
  const { phase } = volume.status ?? {};
  // A failure stays visible during retries.
  const release = phase === 'Released' || phase === 'Failed' ? [] : planPhase(volume, 'Released');
  return [...release, ...planPolicy(released(volume, release), remains)];
}

/** Whether a pod has to empty a volume whose claim is gone. */
export function needsRecycler(volume: PersistentVolume): boolean {
  const isMigrated = (volume.metadata.annotations?.[MIGRATED_TO] ?? '') !== '';
  return !isMigrated && volume.spec?.persistentVolumeReclaimPolicy === 'Recycle' && isRecyclable(volume);
}

/** The volume after the first of the writes. */
function released(volume: PersistentVolume, [write]: readonly Write[]): PersistentVolume {
  return write?.kind === 'updateVolumeStatus' ? write.volume : volume;
}

function planPolicy(volume: PersistentVolume, { users, recycler }: Remains): readonly Action[] {
  if ((volume.metadata.annotations?.[MIGRATED_TO] ?? '') !== '') return [];
  switch (volume.spec?.persistentVolumeReclaimPolicy) {
    case 'Retain':
      return [];
    case 'Recycle':
      if (users.length > 0) {
        const message = `Volume is used by pods: ${users.join(',')}`;
        return [eventAbout(volume, 'Normal', 'VolumeFailedRecycle', message)];
      }
      if (isRecyclable(volume)) return planRecycling(volume, recycler);
      return planFailure(volume, 'VolumeFailedRecycle', 'No recycler plugin found for the volume!');
    case 'Delete':
      return planDeletion(volume);
    default:
      return planFailure(volume, 'VolumeUnknownReclaimPolicy', 'Volume has unrecognized PersistentVolumeReclaimPolicy');
  }
}

/** Deletes volumes without an external provisioner. Kubernetes' controller can only delete folders below /tmp. */
function planDeletion(volume: PersistentVolume): readonly Action[] {
  const failed = (message: string) => planFailure(volume, 'VolumeFailedDelete', message);
  const provisioner = volume.metadata.annotations?.[PROVISIONED_BY] ?? '';
  if (provisioner !== '' && !isInTree(provisioner)) return [];
  if (provisioner !== '') return failed(`no volume plugin matched name: ${provisioner}`);
  const { csi, hostPath, nfs } = volume.spec ?? {};
  if (csi !== undefined) return [];
  if (hostPath === undefined) {
    const why = nfs === undefined ? 'no volume plugin matched' : 'no deletable volume plugin matched';
    return failed(`error getting deleter volume plugin for volume ${JSON.stringify(volume.metadata.name)}: ${why}`);
  }
  if (!/\/tmp\/.+/.test(hostPath.path))
    return failed(`host_path deleter only supports /tmp/.+ but received provided ${hostPath.path}`);
  return volume.metadata.deletionTimestamp === undefined ? [{ kind: 'deleteVolume', volume }] : [];
}

function planFailure(volume: PersistentVolume, reason: string, message: string): readonly Action[] {
  if (volume.status?.phase === 'Failed') return [];
  return [...planPhase(volume, 'Failed', message), eventAbout(volume, 'Warning', reason, message)];
}

/**
 * The volume with Kubernetes' marks for built-in provisioners: the annotation with the replacing driver, and the finalizer for the policy
 * Delete. The same object if nothing changes.
 */
export function withProvisionerMarks(volume: PersistentVolume): PersistentVolume {
  const { annotations = {}, finalizers = [] } = volume.metadata;
  const provisioner = annotations[PROVISIONED_BY];
  const marked = migratedAnnotations(annotations, provisioner);
  const held = protectedBy(finalizers, provisioner, volume.spec?.persistentVolumeReclaimPolicy);
  if (marked === annotations && held === finalizers) return volume;
  return { ...volume, metadata: { ...volume.metadata, annotations: { ...marked }, finalizers: [...held] } };
}

function protectedBy(
  finalizers: readonly string[],
  provisioner: string | undefined,
  policy: string | undefined,
): readonly string[] {
  if (provisioner === undefined) return finalizers;
  if (driverOf(provisioner) !== undefined) return without(finalizers, IN_TREE_PROTECTION);
  if (!isInTree(provisioner)) return finalizers;
  const own = without(finalizers, EXTERNAL_PROTECTION);
  if (policy !== 'Delete') return without(own, IN_TREE_PROTECTION);
  return own.includes(IN_TREE_PROTECTION) ? own : [...own, IN_TREE_PROTECTION];
}

function without(list: readonly string[], value: string): readonly string[] {
  return list.includes(value) ? list.filter((one) => one !== value) : list;
}
