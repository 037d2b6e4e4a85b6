import type { Stats } from 'node:fs';

/** An open file or folder: what was opened stays what it is, whatever happens to its name. */
export interface OpenedPath extends AsyncDisposable {
  /** The descriptor; it may be one that only names what was opened (O_PATH) and cannot be read. */
  readonly fd: number;
  readonly kind: 'folder' | 'file';
  /** The mount namespace in which it can be bound: this process's own, or that of the engine's host. */
  readonly namespace: 'own' | 'host';
  stat(): Promise<Stats>;
}
