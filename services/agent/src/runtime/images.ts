import type { Owner, PodIdentity } from './labels.ts';

/** An image that the engine has. */
export interface ImageInfo {
  readonly id: string;
  readonly sizeBytes: number;
  /** Repository digests and tags; the first digest is what `imageID` shows. */
  readonly digests: readonly string[];
  /** The image's user as its author wrote it, with or without a group; '' means root. */
  readonly user: string;
  /** Names of its labels. The engine copies each of them to a container that does not set the label itself. */
  readonly labels: readonly string[];
}

/** An image as the engine lists it. */
export interface ListedImage {
  readonly id: string;
  readonly sizeBytes: number;
  /** `repository@digest` and `repository:tag`, digests first. */
  readonly names: readonly string[];
}

/** Credentials for a registry. */
export interface RegistryCredential {
  readonly username: string;
  readonly password: string;
}

/** The progress of a pull, in bytes of the layers whose download has begun; `totalBytes` is above 0. */
export interface PullProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Called with the progress of a pull. */
export type PullReport = (progress: PullProgress) => void;

/** Inspects, lists, pulls and removes images. */
export interface ImageRuntime {
  /** Undefined when the engine does not have the image. */
  inspectImage(reference: string, signal: AbortSignal): Promise<ImageInfo | undefined>;
  /** AgentError 'ErrImagePull' with the registry's message. */
  pullImage(
    reference: string,
    credential: RegistryCredential | 'anonymous',
    signal: AbortSignal,
    /** Called on each report of the engine; a runtime may report nothing. */
    report?: PullReport,
  ): Promise<void>;
  /** Lists every image that has a name. */
  listImages(signal: AbortSignal): Promise<readonly ListedImage[]>;
  /** Ids of the images of all containers of the engine, running or not, including containers that are not ours. */
  usedImages(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /**
   * Removes a name of `ListedImage`; the engine removes the image with its last name. Idempotent. AgentError 'Runtime' when the
   * image would be removed but a container uses it.
   */
  removeImage(name: string, signal: AbortSignal): Promise<void>;
}

/** Which files of an image to read, and for which container of a pod. */
export interface ImageFilesSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  readonly graceSeconds: number;
  /** The container's name in the pod. */
  readonly container: string;
  readonly image: Pick<ImageInfo, 'id' | 'labels'>;
  readonly paths: readonly string[];
  /** The limit for each file. */
  readonly maxBytes: number;
}

/** Reads files of images without running anything of them. */
export interface ImageFileRuntime {
  /**
   * The contents of the files that exist, by path. Links are followed within the image. An interrupted call may leave one of the
   * pod's `imageHolds`, and can be repeated. AgentError 'ImageNotFound'; 'CreateContainerError' for a path that is not a file, is
   * larger than `maxBytes`, or cannot be read.
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

/** Mounts images as folders. */
export interface ImageVolumeRuntime {
  /**
   * Mounts the files of the image at the folder: read-only, without devices and without effect of set-user-id bits. The mount
   * stays until it is unmounted. The engine keeps the image until the pod's `imageHolds` are removed as containers. An
   * interrupted call can be repeated. AgentError 'ImageNotFound' or 'CreateContainerError'.
   */
  mountImage(spec: ImageVolumeSpec, signal: AbortSignal): Promise<void>;
}
