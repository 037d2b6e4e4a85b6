import { type Clock, errorMessage } from '@gantry/base';
import type { ContainerImage } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { ImageRuntime, ListedImage } from '../runtime/images.ts';

/** As kubelet limits them: `nodeStatusMaxImages`, and names of each. */
const MAX_IMAGES = 50;
const MAX_NAMES = 5;
const REFRESH_MS = 60_000;

/** A Node's images, the largest first. */
export function nodeImages(listed: readonly ListedImage[]): ContainerImage[] {
  return listed
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes || (one.id < other.id ? -1 : 1))
    .slice(0, MAX_IMAGES)
    .map(({ names, sizeBytes }) => ({ names: names.slice(0, MAX_NAMES), sizeBytes }));
}

/** The images of an engine, listed once a minute. A list that fails keeps the one before. */
export class ImageList {
  readonly #images: Pick<ImageRuntime, 'listImages'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #shown: ContainerImage[] = [];
  #dueMs = -Infinity;

  constructor(images: Pick<ImageRuntime, 'listImages'>, clock: Clock, logger: Logger) {
    this.#images = images;
    this.#clock = clock;
    this.#logger = logger;
  }

  async read(signal: AbortSignal): Promise<ContainerImage[]> {
    if (this.#clock.monotonicMs() < this.#dueMs) return this.#shown;
    try {
      this.#shown = nodeImages(await this.#images.listImages(signal));
      this.#dueMs = this.#clock.monotonicMs() + REFRESH_MS;
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn({ reason: errorMessage(error) }, 'images could not be listed');
    }
    return this.#shown;
  }
}
