import type { Pod, Volume } from '@gantry/objects';
import type { PersistentFolders, VolumePlace } from './persistent-folders.ts';
import type { NetworkMounts } from '../runtime/host-mounts.ts';

/** The places of the claims of pods, by the uid of the pod and the name of its volume. */
export class ClaimedPlaces {
  readonly #persistent: PersistentFolders;
  readonly #mounts: NetworkMounts;
  readonly #places = new Map<string, Map<string, VolumePlace>>();

  constructor(persistent: PersistentFolders, mounts: NetworkMounts) {
    this.#persistent = persistent;
    this.#mounts = mounts;
  }

  /**
   * Finds the place of a volume's claim, once for a pod, as kubelet does: its claim keeps its volume while the pod is there. What comes
   * over the network or from a disk is mounted at `folder`, unless it is. AgentError 'FailedMount'.
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

  /** Undefined before `claim`, and for a volume that is no claim. */
  of(podUid: string, volume: string): VolumePlace | undefined {
    return this.#places.get(podUid)?.get(volume);
  }

  /** The containers of the pod have ended, which may be there for long. */
  end(podUid: string): void {
    this.#persistent.end(podUid);
  }

  release(podUid: string): void {
    this.#places.delete(podUid);
    this.#persistent.release(podUid);
  }
}
