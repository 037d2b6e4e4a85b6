import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventRecorder } from '@gantry/controller-runtime';
import {
  isFullyBound,
  isInVolumesFolder,
  type LocalVolumeSource,
  localFolderOf,
  MOUNT_OPTIONS_ANNOTATION,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  reachesVolume,
  type Volume,
} from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { GroupAccess, GroupChange, HostFiles, OpenedPath } from '../runtime/host-files.ts';
import { fileOwnersOf } from '../spec/file-owners.ts';
import { giveToGroup } from '../files/file-owner.ts';
import { checkDevicePath, checkHostPath, localKindOf, pathOnHost, checkVolumeMode } from './volume-types/host-path.ts';
import type { ClaimSource } from '../spec/config-source.ts';
import { makeFolder } from './volume-types/empty-dir.ts';
import type { NfsSource, DiskMounts, DiskSource } from '../runtime/host-mounts.ts';

export interface PersistentFoldersOptions {
  /** The folder of this node's persistent volumes. It outlives pods and agents. */
  readonly folder: string;
  readonly node: string;
  readonly source: ClaimSource;
  readonly events: EventRecorder;
  readonly hostFiles: HostFiles;
  readonly disks: DiskMounts;
}

/**
 * Where the files of a volume are. `agent`: at a path of the agent. `host`: at a path of the engine's host, which the engine resolves.
 * `disk`: on a block device of the host. `nfs`: on a server. `device`: the volume is itself the block device at a path of the host,
 * which the engine resolves.
 */
export type VolumePlace =
  | { readonly kind: 'agent' | 'host' | 'device'; readonly path: string }
  | { readonly kind: 'disk'; readonly source: DiskSource }
  | { readonly kind: 'nfs'; readonly source: NfsSource };

/** A place whose files the agent can give to a group. */
interface FilesPlace {
  readonly kind: 'agent' | 'host';
  readonly path: string;
}

/** How a pod uses a place. */
interface Use {
  readonly group: number | undefined;
  /** Whether the pod has the place: its disk was mounted, or its folder was made. */
  isMade: boolean;
}

/** A place and its unique name on the node. */
type NamedPlace = VolumePlace & { readonly name: string };

/**
 * The persistent volumes of a node. The place of a pod's volume comes from the PersistentVolume that its claim is bound to. Only
 * administrators write PersistentVolumes, so neither a pod nor a claim can name a path.
 */
export class PersistentFolders {
  readonly #options: PersistentFoldersOptions;
  /** The places in use by pod uid, also those that are not made yet. */
  readonly #users = new Map<string, Map<string, Use>>();
  /** The uids of pods whose containers have ended. */
  readonly #ended = new Set<string>();

  constructor(options: PersistentFoldersOptions) {
    this.#options = options;
  }

  /**
   * Returns the place of the volume that a pod claims. Creates a folder of the agent, and mounts a disk at `folder`. Idempotent.
   * AgentError 'FailedMount' with the kubelet's message for a claim that is not bound, and for a volume that this node does not have.
   */
  async make(pod: Pod, volume: Volume, folder: string, signal: AbortSignal): Promise<VolumePlace> {
    const { namespace = '' } = pod.metadata;
    const name = claimNameOf(pod, volume);
    const found = await this.#volumeOf(pod, volume, { namespace, name }, signal);
    const place = await this.#placeOf(found, volume);
    const { uid = '' } = pod.metadata;
    const { group, change } = fileOwnersOf(pod);
    const use = this.#useOf(uid, place.name, group);
    if (place.kind === 'agent') await makeFolder(place.path);
    if (place.kind === 'disk') await this.mountDisk(folder, place.source, signal);
    const isShared = this.#hasOtherGroup(uid, place.name, group);
    use.isMade = true;
    // Like the kubelet, keep the owners of files that the pod only reads, or that it has used before.
    const isReadOnly = volume.persistentVolumeClaim?.readOnly === true;
    const files = filesOf(place, folder);
    if (files === undefined || group === undefined || isReadOnly || hasRun(pod) || !takesGroup(files.kind, found))
      return place;
    if (isShared) await this.#warnOfGroup(pod, found, files, group);
    else await this.#give(files, { group, access: 'read-write' }, change, signal);
    return place;
  }

  /** Mounts a disk at a pod's folder, unless it is mounted already. AgentError 'FailedMount'. */
  async mountDisk(folder: string, source: DiskSource, signal: AbortSignal): Promise<void> {
    const { hostFiles, disks } = this.#options;
    const open = async (): Promise<OpenedPath> => {
      const opened = await hostFiles.open(source.path);
      if (opened !== undefined) return opened;
      throw new AgentError('FailedMount', `path ${JSON.stringify(source.path)} does not exist`);
    };
    await disks.mountDisk(folder, open, source, signal);
  }

  /** Whether a pod may use a folder. True for a pod whose claims this process has not resolved yet. */
  mayHave(podUid: string, folder: string): boolean {
    return this.#users.get(podUid)?.has(folder) !== false;
  }

  /**
   * Whether a pod uses the folder and has not been released. Such a pod may already be gone from the API, since a forced deletion does
   * not wait for the containers. A running container could place links that redirect the removal of the folder.
   */
  isHeld(folder: string): boolean {
    return [...this.#users.values()].some((folders) => folders.has(folder));
  }

  /** The pod's containers have ended. Its fsGroup no longer conflicts with other pods, but its folders must still not be removed. */
  end(podUid: string): void {
    if (this.#users.has(podUid)) this.#ended.add(podUid);
  }

  /** The pod no longer uses its folders. */
  release(podUid: string): void {
    this.#users.delete(podUid);
    this.#ended.delete(podUid);
  }

  /** The path of a folder. AgentError 'FailedMount' when the name is not a single path component. */
  path(folder: string): string {
    if (folder === '' || folder === '.' || folder === '..' || /[/\0]/.test(folder))
      throw new AgentError('FailedMount', `${JSON.stringify(folder)} cannot be the name of a folder`);
    return join(this.#options.folder, folder);
  }

  #useOf(podUid: string, place: string, group: number | undefined): Use {
    const uses = this.#users.get(podUid) ?? new Map<string, Use>();
    const use = uses.get(place) ?? { group, isMade: false };
    this.#users.set(podUid, uses.set(place, use));
    return use;
  }

  /**
   * Whether another pod has the place for another group; then the files keep that group, as with the kubelet's local volumes. A pod whose
   * mount fails does not have it.
   */
  #hasOtherGroup(podUid: string, place: string, group: number | undefined): boolean {
    return [...this.#users].some(([uid, uses]) => {
      const use = uses.get(place);
      return uid !== podUid && !this.#ended.has(uid) && use?.isMade === true && use.group !== group;
    });
  }

  /** A path on the host is mounted without restrictions, because an administrator has written it: see decision 12. */
  async #placeOf(volume: PersistentVolume, { persistentVolumeClaim }: Volume): Promise<NamedPlace> {
    const { local, hostPath, nfs } = volume.spec ?? {};
    if (volume.spec?.volumeMode === 'Block') return await this.#deviceOf(volume);
    const options = mountOptionsOf(volume);
    const access = (isReadOnly = false) =>
      isReadOnly || persistentVolumeClaim?.readOnly === true ? 'read-only' : 'read-write';
    if (nfs !== undefined) {
      const { server, path, readOnly } = nfs;
      const source: NfsSource = { server, path, options, access: access(readOnly) };
      return { kind: 'nfs', source, name: `${server}:${path}` };
    }
    if (local !== undefined && (await this.#isDisk(local))) {
      const path = pathOnHost(local);
      const { fsType = '' } = local;
      // The kubelet's default.
      const fileSystem = fsType === '' ? 'ext4' : fsType;
      // Like the kubelet, do not create or repair the file system of a read-only disk.
      const isReadOnly = options.some((option) => option.split(',').includes('ro'));
      const source: DiskSource = { path, fileSystem, options, access: access(isReadOnly) };
      return { kind: 'disk', source, name: path };
    }
    if (options.length > 0) throw new AgentError('FailedMount', 'Mount options are not supported for this volume type');
    const folder = localFolderOf(volume);
    if (folder !== undefined) return { kind: 'agent', path: this.path(folder), name: folder };
    const source = local ?? hostPath;
    const name = JSON.stringify(volume.metadata.name);
    if (source === undefined) {
      const message = `PersistentVolume ${name} is of a kind that this node does not support: supported are local, hostPath and nfs`;
      throw new AgentError('FailedMount', message);
    }
    // The message contains no path: users who may only write pods must not learn the paths of volumes.
    const notItsFolder = `PersistentVolume ${name} is not a folder of this node: in the folder of its volumes, a volume has one name`;
    if (isInVolumesFolder(source.path)) throw new AgentError('FailedMount', notItsFolder);
    if (local === undefined) await checkHostPath(source, this.#options.hostFiles);
    const path = pathOnHost(source);
    return { kind: 'host', path, name: path };
  }

  /** Whether a local volume is a block device instead of a folder. AgentError 'FailedMount' for anything else. */
  async #isDisk(local: LocalVolumeSource): Promise<boolean> {
    if (isInVolumesFolder(local.path)) return false;
    return (await localKindOf(local, this.#options.hostFiles)) === 'block-device';
  }

  /** Like in the kubelet, only local volumes can be block devices. */
  async #deviceOf({ metadata, spec }: PersistentVolume): Promise<NamedPlace> {
    const { local } = spec ?? {};
    const name = JSON.stringify(metadata.name);
    if (local === undefined) {
      const message = `PersistentVolume ${name} is of a kind that has no block devices on this node: only local has`;
      throw new AgentError('FailedMapVolume', message);
    }
    if (isInVolumesFolder(local.path)) {
      const message = `PersistentVolume ${name} is not a block device: what this node makes in the folder of its volumes is folders`;
      throw new AgentError('FailedMapVolume', message);
    }
    await checkDevicePath(local, this.#options.hostFiles);
    const path = pathOnHost(local);
    return { kind: 'device', path, name: path };
  }

  async #warnOfGroup(pod: Pod, { metadata }: PersistentVolume, place: FilesPlace, group: number): Promise<void> {
    const { kind, path } = place;
    const gid = kind === 'agent' ? (await stat(path)).gid : await this.#groupOnHost(path);
    if (gid === group) return;
    const message = `The requested fsGroup is ${group}, but the volume ${metadata.name ?? ''} has GID ${gid}. The volume may not be shareable.`;
    this.#options.events.event(pod, 'Warning', 'AlreadyMountedVolume', message);
  }

  async #groupOnHost(path: string): Promise<number | undefined> {
    await using opened = await this.#options.hostFiles.open(path);
    return (await opened?.stat())?.gid;
  }

  async #give({ kind, path }: FilesPlace, to: GroupAccess, change: GroupChange, signal: AbortSignal): Promise<void> {
    if (kind === 'agent') await giveToGroup(path, to, change, signal);
    else await this.#options.hostFiles.giveToGroup(path, to, change, signal);
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

/** The files that the agent can give to a group; undefined for other places. A disk is mounted at `folder`. */
function filesOf(place: VolumePlace, folder: string): FilesPlace | undefined {
  switch (place.kind) {
    case 'agent':
    case 'host':
      return { kind: place.kind, path: place.path };
    case 'disk':
      return { kind: 'agent', path: folder };
    case 'device':
    case 'nfs':
      return undefined;
  }
}

/** Like the kubelet, give local volumes to the pod's group, but not hostPath volumes. */
function takesGroup(kind: FilesPlace['kind'], { spec }: PersistentVolume): boolean {
  return kind === 'agent' || spec?.local !== undefined;
}

/** The annotation is older than the field and takes precedence, as in the kubelet. */
function mountOptionsOf({ metadata, spec }: PersistentVolume): readonly string[] {
  const old = metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION];
  return old === undefined ? (spec?.mountOptions ?? []) : old.split(',').filter((option) => option !== '');
}

/** The name of the claim that a pod's volume refers to. */
function claimNameOf(pod: Pod, { name, persistentVolumeClaim }: Volume): string {
  return persistentVolumeClaim?.claimName ?? `${pod.metadata.name ?? ''}-${name}`;
}

/** Whether a container of the pod has run. The pod then had its volumes before this agent process started. */
function hasRun({ status }: Pod): boolean {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.some(({ containerID }) => containerID !== undefined);
}

function whyRefused({ status }: Pod, claim: PersistentVolumeClaim): string | undefined {
  // A pod that has started keeps its volumes: the claim's deletion waits for the end of the pod.
  const isNew = (status?.phase ?? 'Pending') === 'Pending';
  if (claim.metadata.deletionTimestamp !== undefined && isNew) return 'PVC is being deleted';
  return claim.status?.phase === 'Bound' && isFullyBound(claim) ? undefined : 'PVC is not bound';
}

function isMadeFor({ metadata: { uid } }: Pod, { metadata }: PersistentVolumeClaim): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller === true) === true;
}
