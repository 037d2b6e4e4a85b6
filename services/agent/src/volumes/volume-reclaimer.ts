import { type Clock, errorMessage, type Random, Signal } from '@gantry/base';
import { ignoreNotFound, ignoreReasons, type ObjectReader, type ObjectWriter } from '@gantry/client';
import { type EventRecorder, Reflector } from '@gantry/controller-runtime';
import {
  claimsOfPod,
  isForDeletionOn,
  keyOf,
  localFolderOf,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_NODE_LABEL,
} from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { PodSource } from '../sources/pod-source.ts';
import type { PersistentFolders } from './persistent-folders.ts';

export interface VolumeReclaimerOptions {
  readonly node: string;
  readonly client: ObjectReader & Pick<ObjectWriter, 'delete'>;
  readonly folders: PersistentFolders;
  readonly mounts: HostMounts;
  readonly pods: Pick<PodSource, 'confirm' | 'list'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The delay before the next attempt after a failure, or while a pod still uses the volume. */
const RETRY_MS = 5000;

/**
 * Deletes the released volumes of this node whose reclaim policy is Delete: first the folder, then the object. After a crash in
 * between, both steps are repeated.
 */
export class VolumeReclaimer {
  readonly #options: VolumeReclaimerOptions;
  readonly #released = new Map<string, PersistentVolume>();
  readonly #work = new Signal();

  constructor(options: VolumeReclaimerOptions) {
    this.#options = options;
  }

  /** Works until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#follow(signal), this.#reclaimAll(signal)]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { client, node, clock, random, logger } = this.#options;
    const labelSelector = `${VOLUME_NODE_LABEL}=${node}`;
    const reflector = new Reflector({ client, resource: PERSISTENT_VOLUMES, clock, random, labelSelector });
    for await (const event of reflector.events(signal)) {
      switch (event.kind) {
        case 'resync':
          this.#released.clear();
          for (const volume of event.objects) this.#note(volume);
          break;
        case 'changes':
          for (const { kind, object } of event.changes) {
            if (kind === 'put') this.#note(object);
            else this.#released.delete(object.metadata.uid ?? '');
          }
          break;
        case 'failed':
          logger.debug({ phase: event.phase, reason: errorMessage(event.error) }, 'watching volumes failed');
          break;
      }
    }
  }

  #note(volume: PersistentVolume): void {
    const { uid = '' } = volume.metadata;
    if (!isForDeletionOn(volume, this.#options.node)) {
      this.#released.delete(uid);
      return;
    }
    this.#released.set(uid, volume);
    this.#work.notify();
  }

  async #reclaimAll(signal: AbortSignal): Promise<void> {
    const { clock, logger, events } = this.#options;
    while (!signal.aborted) {
      this.#work.clear();
      for (const volume of [...this.#released.values()]) {
        try {
          await this.#reclaim(volume, signal);
        } catch (error) {
          if (signal.aborted) return;
          const message = errorMessage(error);
          logger.warn({ volume: volume.metadata.name, reason: message }, 'cannot delete a volume');
          events.event(volume, 'Warning', 'VolumeFailedDelete', message);
        }
      }
      await this.#work.wait(clock, this.#released.size === 0 ? Infinity : RETRY_MS, signal);
    }
  }

  async #reclaim(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, folders, mounts, logger, node } = this.#options;
    const { uid = '', name } = volume.metadata;
    const folder = localFolderOf(volume);
    if (await this.#isUsed(volume, folder, signal)) return;
    // An administrator may have given the volume to another claim in the meantime.
    const stored = await ignoreNotFound(client.get(PERSISTENT_VOLUMES, keyOf(volume), signal));
    if (stored?.metadata.uid !== uid || !isForDeletionOn(stored, node)) {
      this.#released.delete(uid);
      return;
    }
    if (folder !== undefined) await mounts.remove(folders.path(folder));
    await ignoreReasons(client.delete(PERSISTENT_VOLUMES, keyOf(volume), { uid }, signal), ['NotFound', 'Conflict']);
    this.#released.delete(uid);
    logger.info({ volume: name }, 'deleted a volume and its folder');
  }

  /** Whether a pod of this node may still use the volume. The claim may be gone before the pod, if it was removed by force. */
  async #isUsed({ spec }: PersistentVolume, folder: string | undefined, signal: AbortSignal): Promise<boolean> {
    const { pods, folders } = this.#options;
    await pods.confirm(signal);
    if (folder !== undefined && folders.isHeld(folder)) return true;
    const { namespace, name = '' } = spec?.claimRef ?? {};
    return pods
      .list()
      .some(
        (pod) =>
          pod.metadata.namespace === namespace &&
          claimsOfPod(pod).includes(name) &&
          folders.mayHave(pod.metadata.uid ?? '', folder ?? ''),
      );
  }
}
