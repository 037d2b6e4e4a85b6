import type { ImageInfo } from './images.ts';
import type { Owner, PodIdentity } from './labels.ts';

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
