import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventRecorder } from '@gantry/controller-runtime';
import {
  isFullyBound,
  localFolderOf,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  reachesVolume,
  type Volume,
} from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ClaimSource } from '../spec/claim-source.ts';
import { fileOwnersOf } from '../spec/file-owners.ts';
import { giveToGroup } from './volume-types/file-owner.ts';
import { checkVolumeMode } from './volume-mode.ts';
import { makeFolder } from './volume-types/make-folder.ts';

export interface PersistentFoldersOptions {
  /** The folder of this node's persistent volumes. It outlives pods and agents. */
  readonly folder: string;
  readonly node: string;
  readonly source: ClaimSource;
  readonly events: EventRecorder;
}

/**
 * The folders of a node's persistent volumes. Which folder a pod gets is read from the volume to which its claim is bound, and
 * only administrators write volumes: neither pod nor claim can name a path.
 */
export class PersistentFolders {
  readonly #options: PersistentFoldersOptions;
  /** The folders that pods have, by uid, and the group for which each pod has it. */
  readonly #users = new Map<string, Map<string, number | undefined>>();

  constructor(options: PersistentFoldersOptions) {
    this.#options = options;
  }

  /**
   * Makes the folder of the volume that a pod's volume claims, and returns its path. Idempotent. AgentError 'FailedMount' with
   * kubelet's message for a claim that is not bound, and for a volume that this node does not have.
   */
  async make(pod: Pod, volume: Volume, signal: AbortSignal): Promise<string> {
    const { namespace = '' } = pod.metadata;
    const name = claimNameOf(pod, volume);
    const found = await this.#volumeOf(pod, volume, { namespace, name }, signal);
    const folder = localFolderOf(found);
    if (folder === undefined) {
      // It names no path: what lies where is not shown to who may only write pods.
      const message = `PersistentVolume ${JSON.stringify(found.metadata.name)} is not a folder of this node: supported are local and hostPath volumes below /var/lib/gantry/volumes`;
      throw new AgentError('FailedMount', message);
    }
    const path = this.path(folder);
    const { uid = '' } = pod.metadata;
    const { group, change } = fileOwnersOf(pod);
    const isShared = this.#hasOtherGroup(uid, folder, group);
    this.#users.set(uid, (this.#users.get(uid) ?? new Map<string, number | undefined>()).set(folder, group));
    await makeFolder(path);
    // As kubelet: the files of a volume that its pod only reads stay as they are, and those that a pod has got already are its own.
    const isReadOnly = volume.persistentVolumeClaim?.readOnly === true;
    if (group !== undefined && !isReadOnly && !hasRun(pod)) {
      if (isShared) {
        await this.#warnOfGroup(pod, found, path, group);
        return path;
      }
      await giveToGroup(path, { group, access: 'read-write' }, change, signal);
    }
    return path;
  }

  /** Whether a pod may have a folder: one that this process has not looked at may have any. */
  mayHave(podUid: string, folder: string): boolean {
    return this.#users.get(podUid)?.has(folder) !== false;
  }

  /**
   * Whether a pod has a folder whose containers are not gone yet. The API may have forgotten such a pod: a deletion by force does
   * not wait for them, and what runs could lead the removal of the folder elsewhere by links.
   */
  isHeld(folder: string): boolean {
    return [...this.#users.values()].some((folders) => folders.has(folder));
  }

  /** The pod has its folders no longer. */
  release(podUid: string): void {
    this.#users.delete(podUid);
  }

  /** Where a folder lies. AgentError 'FailedMount' when it is not one component of a path. */
  path(folder: string): string {
    if (folder === '' || folder === '.' || folder === '..' || /[/\0]/.test(folder))
      throw new AgentError('FailedMount', `${JSON.stringify(folder)} cannot be the name of a folder`);
    return join(this.#options.folder, folder);
  }

  /** Whether another pod has the folder for another group: what that works on stays its own, as with kubelet's local volumes. */
  #hasOtherGroup(podUid: string, folder: string, group: number | undefined): boolean {
    return [...this.#users].some(
      ([uid, folders]) => uid !== podUid && folders.has(folder) && folders.get(folder) !== group,
    );
  }

  async #warnOfGroup(pod: Pod, { metadata }: PersistentVolume, path: string, group: number): Promise<void> {
    const { gid } = await stat(path);
    if (gid === group) return;
    const message = `The requested fsGroup is ${group}, but the volume ${metadata.name ?? ''} has GID ${gid}. The volume may not be shareable.`;
    this.#options.events.event(pod, 'Warning', 'AlreadyMountedVolume', message);
  }

  async #volumeOf(
    pod: Pod,
    volume: Volume,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<PersistentVolume> {
    const { source, node } = this.#options;
    const failed = (why: string) => new AgentError('FailedMount', `error processing PVC ${namespace}/${name}: ${why}`);
    const claim = await source.claim(namespace, name, signal);
    const why =
      claim === undefined ? `persistentvolumeclaims ${JSON.stringify(name)} not found` : whyRefused(pod, claim);
    if (claim === undefined || why !== undefined)
      throw failed(claim === undefined ? `failed to fetch PVC from API server: ${why}` : (why ?? ''));
    if (volume.ephemeral !== undefined && !isMadeFor(pod, claim))
      throw failed(
        `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
      );
    const volumeName = claim.spec?.volumeName ?? '';
    const found = await source.volume(volumeName, signal);
    if (found === undefined)
      throw failed(`failed to fetch PV ${volumeName} from API server: persistentvolumes "${volumeName}" not found`);
    if (found.spec?.claimRef?.uid !== claim.metadata.uid)
      throw failed(
        `PV object pv.Spec.ClaimRef.UID ${found.spec?.claimRef?.uid ?? ''} does not point to PVC UID ${claim.metadata.uid ?? ''}`,
      );
    checkVolumeMode(pod, volume, found);
    if (found.spec?.nodeAffinity !== undefined) await this.#checkAffinity(found, node, signal);
    return found;
  }

  async #checkAffinity(volume: PersistentVolume, name: string, signal: AbortSignal): Promise<void> {
    const node: Node | undefined = await this.#options.source.node(name, signal);
    if (node !== undefined && reachesVolume(node, volume)) return;
    const message = `MountVolume.NodeAffinity check failed for volume "${volume.metadata.name}": no matching NodeSelectorTerms`;
    throw new AgentError('FailedMount', message);
  }
}

/** The name of the claim that a pod's volume stands for. */
function claimNameOf(pod: Pod, { name, persistentVolumeClaim }: Volume): string {
  return persistentVolumeClaim?.claimName ?? `${pod.metadata.name ?? ''}-${name}`;
}

/** Whether a container of the pod has run, so that the pod had its volumes before this process of the agent began. */
function hasRun({ status }: Pod): boolean {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.some(({ containerID }) => containerID !== undefined);
}

function whyRefused({ status }: Pod, claim: PersistentVolumeClaim): string | undefined {
  // A pod that runs keeps its volumes: the claim waits for its end.
  const isNew = (status?.phase ?? 'Pending') === 'Pending';
  if (claim.metadata.deletionTimestamp !== undefined && isNew) return 'PVC is being deleted';
  return claim.status?.phase === 'Bound' && isFullyBound(claim) ? undefined : 'PVC is not bound';
}

function isMadeFor({ metadata: { uid } }: Pod, { metadata }: PersistentVolumeClaim): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller === true) === true;
}
