/** What lies at a path of the engine's host. */
export type HostFileKind = 'folder' | 'file' | 'socket' | 'character-device' | 'block-device' | 'other';

/**
 * The files of the engine's host, by absolute paths that are resolved there. AgentError 'FailedMount' for a path that cannot be
 * opened, and where the host's files are out of reach.
 */
export interface HostFiles {
  /** Undefined when nothing is there. */
  kindOf(path: string): Promise<HostFileKind | undefined>;
  /** Makes a folder and those above it, for all users to read. One that exists stays as it is. */
  makeFolder(path: string): Promise<void>;
  /** Makes an empty file in a folder that exists, for all users to read. One that exists stays as it is. */
  makeFile(path: string): Promise<void>;
  /** Bytes of the files in a folder, without those of folders in it; 0 when it does not exist. */
  sizeOf(folder: string): Promise<number>;
}
