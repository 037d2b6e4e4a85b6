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
