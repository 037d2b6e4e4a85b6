import type { Stats } from 'node:fs';

/** What lies at a path of the engine's host. */
export type HostFileKind = 'folder' | 'file' | 'socket' | 'character-device' | 'block-device' | 'other';

/** A group and what it may do with the files that it is given. */
export interface GroupAccess {
  readonly group: number;
  readonly access: 'read-write' | 'read-only';
}

/** Whether the files of a folder that has the group already are looked at. */
export type GroupChange = 'always' | 'on-root-mismatch';

/** What files take of a disk. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

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
  /**
   * What a folder takes of its disk, with all that is in it but for what is mounted there: each file once, and no link is followed. When
   * `until` is aborted, what was counted by then. Nothing when it does not exist.
   */
  usageOf(folder: string, until: AbortSignal): Promise<DiskUsage>;
  /** Opens what lies at a path; undefined when nothing does. */
  open(path: string): Promise<OpenedPath | undefined>;
  /** Gives a folder and everything in it to a group, as `giveToGroup` of `files/file-owner.ts` does. */
  giveToGroup(path: string, to: GroupAccess, change: GroupChange, signal: AbortSignal): Promise<void>;
}

/** An open file or folder: what was opened stays what it is, whatever happens to its name. */
export interface OpenedPath extends AsyncDisposable {
  /** The descriptor; it may be one that only names what was opened (O_PATH) and cannot be read. */
  readonly fd: number;
  readonly kind: 'folder' | 'file';
  /** The mount namespace in which it can be bound: this process's own, or that of the engine's host. */
  readonly namespace: 'own' | 'host';
  stat(): Promise<Stats>;
}
