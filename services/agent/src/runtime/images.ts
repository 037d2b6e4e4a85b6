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

/** Inspects and pulls images. */
export interface ImageRuntime {
  /** Undefined when the engine does not have it. */
  inspectImage(reference: string, signal: AbortSignal): Promise<ImageInfo | undefined>;
  /** AgentError 'ErrImagePull' with the registry's message. */
  pullImage(reference: string, signal: AbortSignal): Promise<void>;
}
