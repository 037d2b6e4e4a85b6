import type { Owner, PodIdentity } from './labels.ts';

/** An image that the engine has. */
export interface ImageInfo {
  readonly id: string;
  readonly sizeBytes: number;
  /** Repository digests and tags; the first digest is what `imageID` shows. */
  readonly digests: readonly string[];
  /** The image's user as its author wrote it, with or without a group; '' is root. */
  readonly user: string;
  /** Names of its labels. The engine copies to a container every one that the container does not set itself. */
  readonly labels: readonly string[];
}

/** What an engine's list says of an image. */
export interface ListedImage {
  readonly id: string;
  readonly sizeBytes: number;
  /** `repository@digest` and `repository:tag`, digests first. */
  readonly names: readonly string[];
}

/** A user of a registry. */
export interface RegistryCredential {
  readonly username: string;
  readonly password: string;
}

/** How far a pull is, in bytes of the layers whose download has begun; `totalBytes` is above 0. */
export interface PullProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Called with the progress of a pull. */
export type PullReport = (progress: PullProgress) => void;

/** Inspects, lists, pulls and removes images. */
export interface ImageRuntime {
  /** Undefined when the engine does not have it. */
  inspectImage(reference: string, signal: AbortSignal): Promise<ImageInfo | undefined>;
  /** AgentError 'ErrImagePull' with the registry's message. */
  pullImage(
    reference: string,
    credential: RegistryCredential | 'anonymous',
    signal: AbortSignal,
    /** Called as often as the engine reports; a runtime may report nothing. */
    report?: PullReport,
  ): Promise<void>;
  /** Every image with a name. */
  listImages(signal: AbortSignal): Promise<readonly ListedImage[]>;
  /** Ids of the images of all containers of the engine, those of others too, running or not. */
  usedImages(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /**
   * Takes a name of `ListedImage` away, and with the last one the image. Idempotent. AgentError 'Runtime' when a container uses an image
   * that would go.
   */
  removeImage(name: string, signal: AbortSignal): Promise<void>;
}

/** Which files of an image are read, and for which container of a pod. */
export interface ImageFilesSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  readonly graceSeconds: number;
  /** The container's name in the pod. */
  readonly container: string;
  readonly image: Pick<ImageInfo, 'id' | 'labels'>;
  readonly paths: readonly string[];
  /** Of each file. */
  readonly maxBytes: number;
}

/** Reads files of images, of which nothing is run. */
export interface ImageFileRuntime {
  /**
   * The contents of those files that exist, by their paths. Links are followed within the image. A call that was interrupted may leave
   * one of the pod's `imageHolds`; it is repeated. AgentError 'ImageNotFound', or 'CreateContainerError' for what is no file, is larger
   * than `maxBytes`, or cannot be read.
   */
  readImageFiles(spec: ImageFilesSpec, signal: AbortSignal): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** The files of an image as a volume of a pod. */
export interface ImageVolumeSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  readonly graceSeconds: number;
  /** The volume's name in the pod. */
  readonly volume: string;
  readonly image: Pick<ImageInfo, 'id' | 'labels'>;
  /** The image of sandboxes, which every node has. */
  readonly sandboxImage: Pick<ImageInfo, 'id' | 'labels'>;
  /** An empty folder on the engine's host, below a shared mount. */
  readonly hostFolder: string;
}

/** Shows images as folders. */
export interface ImageVolumeRuntime {
  /**
   * Mounts the files of the image at the folder: read-only, without devices and set-user-id bits. The mount stays until it is unmounted,
   * and the engine keeps the image until the pod's `imageHolds` are removed as containers. A call that was interrupted is repeated.
   * AgentError 'ImageNotFound' or 'CreateContainerError'.
   */
  mountImage(spec: ImageVolumeSpec, signal: AbortSignal): Promise<void>;
}
