import { type Clock, sleep } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo, ImageRuntime, ListedImage, RegistryCredential } from '../runtime/images.ts';

/** How pulls behave. */
export interface HollowImageBehaviour {
  readonly pullMs: number;
  /** The `user:password` that the registry requires for an image; undefined: none. */
  readonly login?: (reference: string) => string | undefined;
}

/** Images by name. */
export interface KnownImages {
  /** Images on the host. */
  readonly images: Readonly<Record<string, ImageInfo>>;
  /** The image of every other reference; absent: other images do not exist. */
  readonly anyImage?: ImageInfo;
  /** Images in the registry. */
  readonly registry?: Readonly<Record<string, ImageInfo>>;
}

interface HollowImagesOptions extends KnownImages {
  readonly clock: Clock;
  readonly behaviour: () => HollowImageBehaviour;
  /** The names or ids of the images that containers use. */
  readonly inUse: () => readonly string[];
}

/** Images in memory, and a registry to pull them from. */
export class HollowImages implements ImageRuntime {
  readonly #options: HollowImagesOptions;
  readonly #images: Map<string, ImageInfo>;

  constructor(options: HollowImagesOptions) {
    this.#options = options;
    this.#images = new Map(Object.entries(options.images));
  }

  /** An image by its name or id. */
  find(reference: string): ImageInfo | undefined {
    const found = this.#images.get(reference) ?? [...this.#images.values()].find(({ id }) => id === reference);
    return found ?? this.#options.anyImage;
  }

  inspectImage = async (reference: string): Promise<ImageInfo | undefined> =>
    this.#images.get(reference) ?? this.#options.anyImage;

  listImages = async (): Promise<readonly ListedImage[]> =>
    [...Map.groupBy(this.#images, ([, { id }]) => id)].map(([id, images]) => ({
      id,
      sizeBytes: images[0]?.[1].sizeBytes ?? 0,
      names: images.map(([name]) => (/:[^/]+$/.test(name) ? name : `${name}:latest`)),
    }));

  usedImages = async (): Promise<ReadonlySet<string>> =>
    new Set(this.#options.inUse().flatMap((reference) => this.find(reference)?.id ?? []));

  removeImage = async (name: string): Promise<void> => {
    const reference = this.#images.has(name) ? name : name.replace(/:latest$/, '');
    const image = this.#images.get(reference);
    if (image === undefined) return;
    const others = [...this.#images].filter(([other, { id }]) => other !== reference && id === image.id);
    if (others.length === 0 && (await this.usedImages()).has(image.id)) {
      throw new AgentError('Runtime', `conflict: unable to delete ${name}: image is being used by a container`);
    }
    this.#images.delete(reference);
  };

  pullImage = async (
    reference: string,
    credential: RegistryCredential | 'anonymous',
    signal: AbortSignal,
  ): Promise<void> => {
    const { clock, behaviour, registry, anyImage } = this.#options;
    signal.throwIfAborted();
    if (behaviour().pullMs > 0) await sleep(clock, behaviour().pullMs, signal);
    const login = behaviour().login?.(reference);
    if (
      login !== undefined &&
      (credential === 'anonymous' || `${credential.username}:${credential.password}` !== login)
    ) {
      throw new AgentError('ErrImagePull', `pull access denied for ${reference}`);
    }
    const image = registry?.[reference] ?? anyImage;
    if (image === undefined) throw new AgentError('ErrImagePull', `manifest for ${reference} not found`);
    this.#images.set(reference, image);
  };
}
