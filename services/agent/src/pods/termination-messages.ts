import type { ContainerState } from '../runtime/containers.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';

/** The termination messages of one pod's ended containers, each read once. */
export class TerminationMessages {
  readonly #volumes: PodVolumes;
  readonly #byId = new Map<string, string>();

  constructor(volumes: PodVolumes) {
    this.#volumes = volumes;
  }

  /** Messages by container id, for the containers that exist. */
  async read(podUid: string, containers: readonly ContainerState[]): Promise<ReadonlyMap<string, string>> {
    const present = new Set(containers.map(({ id }) => id));
    for (const id of this.#byId.keys()) if (!present.has(id)) this.#byId.delete(id);
    for (const { id, state, name, attempt, terminationMessagePath } of containers) {
      if (state !== 'exited' || terminationMessagePath === undefined || this.#byId.has(id)) continue;
      // The path is computed anew: what an agent reads is not decided by a label of a container.
      this.#byId.set(id, await this.#volumes.terminationMessage(podUid, name, attempt));
    }
    return this.#byId;
  }
}
