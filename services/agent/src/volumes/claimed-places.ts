import type { Pod, Volume } from '@gantry/objects';
import type { PersistentFolders, VolumePlace } from './persistent-folders.ts';
import type { NetworkMounts } from '../runtime/host-mounts.ts';

/** Remembers where the files of pods' claims are, by pod uid and volume name. */
export class ClaimedPlaces {
  readonly #persistent: PersistentFolders;
  readonly #mounts: NetworkMounts;
  readonly #places = new Map<string, Map<string, VolumePlace>>();

  constructor(persistent: PersistentFolders, mounts: NetworkMounts) {
    this.#persistent = persistent;
    this.#mounts = mounts;
  }

  /**
   * Finds the place of a volume's claim, once per pod like the kubelet: a claim stays bound to its volume while the pod exists. NFS
   * volumes and disks are mounted at `folder` unless they are mounted already. AgentError 'FailedMount'.
   */
  async claim(pod: Pod, volume: Volume, folder: string, signal: AbortSignal): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    const places = this.#places.get(uid) ?? new Map<string, VolumePlace>();
    const known = places.get(volume.name);
    const place = known ?? (await this.#persistent.make(pod, volume, folder, signal));
    if (known?.kind === 'disk') await this.#persistent.mountDisk(folder, known.source, signal);
    if (place.kind === 'nfs') await this.#mounts.mountNfs(folder, place.source, signal);
    this.#places.set(uid, places.set(volume.name, place));
  }

  /** Undefined before `claim`, and for a volume that is not a claim. */
  of(podUid: string, volume: string): VolumePlace | undefined {
    return this.#places.get(podUid)?.get(volume);
  }

  /** The containers of the pod have ended; the pod itself may stay for long. */
  end(podUid: string): void {
    this.#persistent.end(podUid);
  }

  release(podUid: string): void {
    this.#places.delete(podUid);
    this.#persistent.release(podUid);
  }
}
