/** One folder, as this process sees it and as the engine's host does: pods mount by the host's path. */
export interface StateFolder {
  readonly path: string;
  readonly hostPath: string;
}
