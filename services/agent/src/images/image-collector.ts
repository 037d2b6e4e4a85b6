import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { KubeObject } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageRuntime } from '../runtime/images.ts';
import {
  bytesToFree,
  type CollectionPolicy,
  isBrought,
  planCollection,
  type UnusedImage,
  usedPercent,
} from './plan-collection.ts';
import type { PulledImages } from './pulled-images.ts';
import { nodeReference } from '../spec/pod-names.ts';
import type { HostMeter } from '../runtime/stats.ts';

/** The kubelet's interval. */
const EVERY_MS = 300_000;

export interface ImageCollectorOptions extends CollectionPolicy {
  readonly node: string;
  readonly images: Pick<ImageRuntime, 'listImages' | 'usedImages' | 'inspectImage' | 'removeImage'>;
  readonly pulled: Pick<PulledImages, 'recordsOf' | 'recordNames' | 'lastUsedOf' | 'isPulling' | 'touch' | 'forget'>;
  readonly meter: Pick<HostMeter, 'read'>;
  /** Never removed, because every pod needs it. */
  readonly sandboxImage: string;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes images when the host's disk fills, like the kubelet's image manager. Removes only images that this cluster has pulled
 * and that no container of the engine uses, and only on the one agent of the host that leads.
 */
export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #about: KubeObject;
  #role: 'leads' | 'waits' = 'waits';

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
    this.#about = nodeReference(options.node);
  }

  /** Collects at intervals, while this agent is its host's custodian. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, logger, events, highPercent } = this.#options;
    this.#role = 'leads';
    const loop = new ControlLoop({
      round: async () => {
        if (highPercent < 100) await this.collect(signal);
      },
      intervalMs: EVERY_MS,
      onError: (error, failures) => {
        logger.warn({ reason: errorMessage(error) }, 'cannot collect images');
        if (failures > 1) events.event(this.#about, 'Warning', 'ImageGCFailed', errorMessage(error));
      },
      clock,
    });
    try {
      await loop.run(signal);
    } finally {
      this.#role = 'waits';
    }
  }

  /** Removes images when the disk is fuller than the policy allows. AgentError 'Runtime' when that does not free enough. */
  async collect(signal: AbortSignal): Promise<void> {
    const { meter, events } = this.#options;
    const unused = await this.#findUnused(signal);
    const { disk } = await meter.read();
    if (disk.capacityBytes === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      events.event(this.#about, 'Warning', 'InvalidDiskCapacity', message);
      throw new AgentError('Runtime', message);
    }
    const wanted = bytesToFree(this.#options, disk);
    if (wanted === 0) return;
    const freed = await this.#free(unused, wanted, signal);
    if (freed >= wanted) return;
    const message = [
      `Insufficient free disk space on the node's image filesystem (${usedPercent(disk)}% of ${formatSize(disk.capacityBytes)} used).`,
      `Failed to free sufficient space by deleting unused images (freed ${freed} bytes).`,
      'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.',
    ].join(' ');
    events.event(this.#about, 'Warning', 'FreeDiskSpaceFailed', message);
    throw new AgentError('Runtime', message);
  }

  /** Removes every unused image, for a node that is short of disk. Returns the freed bytes; 0 on an agent that does not lead. */
  async deleteUnused(signal: AbortSignal): Promise<number> {
    if (this.#role === 'waits') return 0;
    return await this.#free(await this.#findUnused(signal), Infinity, signal);
  }

  /** The cluster's images that no container uses. Marks the other images as used now. */
  async #findUnused(signal: AbortSignal): Promise<readonly UnusedImage[]> {
    const { images, pulled, sandboxImage, clock } = this.#options;
    const sandbox = await images.inspectImage(sandboxImage, signal);
    const used = await images.usedImages(signal);
    const unused: UnusedImage[] = [];
    for (const image of await images.listImages(signal)) {
      if (image.id === sandbox?.id || !isBrought(image, await pulled.recordsOf(image.id))) continue;
      if (used.has(image.id)) await pulled.touch(image.id, clock.now());
      else unused.push({ ...image, lastUsed: await pulled.lastUsedOf(image.id) });
    }
    return unused;
  }

  async #free(unused: readonly UnusedImage[], wanted: number, signal: AbortSignal): Promise<number> {
    const { clock, logger } = this.#options;
    const failures: string[] = [];
    let freed = 0;
    for (const image of planCollection(unused, this.#options, clock.now())) {
      if (freed >= wanted) break;
      try {
        if (!(await this.#remove(image, signal))) continue;
        freed += image.sizeBytes;
        logger.info({ image: image.names, bytes: image.sizeBytes }, 'an unused image was removed');
      } catch (error) {
        signal.throwIfAborted();
        failures.push(errorMessage(error));
      }
    }
    if (failures.length === 0) return freed;
    const space = wanted === Infinity ? 'unused images' : `${wanted} bytes`;
    throw new AgentError(
      'Runtime',
      `wanted to free ${space}, but freed ${freed} bytes space with errors in image deletion: ${failures.join(', ')}`,
    );
  }

  /**
   * Removes the image's names, tags first. The engine removes the image with its last name, unless a container uses it by then.
   * Returns whether the image is gone. Its records stay while the image may exist: without records, every pod could use it.
   */
  async #remove({ id, names, lastUsed }: UnusedImage, signal: AbortSignal): Promise<boolean> {
    const { images, pulled } = this.#options;
    // The image was pulled or used after the list was made; earlier removals may have taken minutes.
    if ((await pulled.lastUsedOf(id)) !== lastUsed) return false;
    const tags = names.filter((name) => !name.includes('@'));
    for (const name of [...tags, ...names.filter((other) => other.includes('@'))])
      await images.removeImage(name, signal);
    // Read before the list of images: a record that is written later belongs to a new pull of the image and must stay.
    const records = await pulled.recordNames(id);
    const isPulling = await pulled.isPulling();
    const isThere = (await images.listImages(signal)).some((image) => image.id === id);
    if (isThere) return false;
    if (!isPulling && (await pulled.lastUsedOf(id)) === lastUsed) await pulled.forget(id, records);
    return true;
  }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** The kubelet's format of sizes: `251.0 GiB`. */
function formatSize(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power] ?? ''}`;
}
