import type { ImageInfo } from './images.ts';
import type { Owner, PodIdentity } from './labels.ts';

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
