import type { Stats } from 'node:fs';

/** What lies at a path of the engine's host. */
export type HostFileKind = 'folder' | 'file' | 'socket' | 'character-device' | 'block-device' | 'other';

/** A group and its access to the files that it gets. */
export interface GroupAccess {
  readonly group: number;
  readonly access: 'read-write' | 'read-only';
}

/** Whether to check all files of a folder that already belongs to the group. */
export type GroupChange = 'always' | 'on-root-mismatch';

/** The disk usage of files. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/**
 * The files of the engine's host, by absolute paths that are resolved on the host. AgentError 'FailedMount' for a path that
 * cannot be opened, or when the agent cannot reach the host's files.
 */
export interface HostFiles {
  /** Undefined when nothing is there. */
  kindOf(path: string): Promise<HostFileKind | undefined>;
  /** Creates a folder and its missing parents, readable by all users. An existing folder is not changed. */
  makeFolder(path: string): Promise<void>;
  /** Creates an empty file in an existing folder, readable by all users. An existing file is not changed. */
  makeFile(path: string): Promise<void>;
  /**
   * The disk usage of a folder and its content, without what is mounted inside. Each file counts once; links are not followed. If
   * `until` is aborted, returns what was counted so far. 0 for a folder that does not exist.
   */
  usageOf(folder: string, until: AbortSignal): Promise<DiskUsage>;
  /** Opens a path; undefined when nothing is there. */
  open(path: string): Promise<OpenedPath | undefined>;
  /** Gives a folder and its content to a group, like `giveToGroup` of `files/file-owner.ts`. */
  giveToGroup(path: string, to: GroupAccess, change: GroupChange, signal: AbortSignal): Promise<void>;
}

/** An open file or folder. It stays the same file or folder, even if its name changes. */
export interface OpenedPath extends AsyncDisposable {
  /** The descriptor. It may only name the file (O_PATH) and not be readable. */
  readonly fd: number;
  readonly kind: 'folder' | 'file';
  /** The mount namespace in which it can be bound: that of this process, or that of the engine's host. */
  readonly namespace: 'own' | 'host';
  stat(): Promise<Stats>;
}
