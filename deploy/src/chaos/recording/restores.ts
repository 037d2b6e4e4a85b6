import { RESTORED_LATER } from '../../snapshot/restore.ts';
import type { ChaosEngine } from '../engine.ts';
import type { HistoryCut } from '../fault.ts';
import { readKeys } from './record-etcd.ts';
import type { RunFolder } from './run-folder.ts';

/** As in docs/storage.md. */
const VERSIONS_PER_REVISION = 256;

/** The snapshots that were restored during a run. */
export class Restores {
  readonly #engine: ChaosEngine;
  readonly #folder: Pick<RunFolder, 'restore'>;
  readonly #snapshots: number[] = [];
  readonly #written: Promise<void>[] = [];

  constructor(engine: ChaosEngine, folder: Pick<RunFolder, 'restore'>) {
    this.#engine = engine;
    this.#folder = folder;
  }

  /** A snapshot was restored. The restored state is written down now: later it may be compacted. */
  cut(cut: HistoryCut): void {
    this.#snapshots.push(cut.snapshotRevision);
    const writing = this.#write(cut);
    // The campaign awaits it at its end. An unhandled rejection before that would end the process without healing.
    writing.catch(() => undefined);
    this.#written.push(writing);
  }

  async #write(cut: HistoryCut): Promise<void> {
    const revision = cut.snapshotRevision + RESTORED_LATER;
    const printed = await this.#engine.options.etcd.ctl(['get', '', '--prefix', `--rev=${revision}`, '-w', 'json']);
    this.#folder.restore({ ...cut, revision, keys: [...readKeys(printed)] });
  }

  /** Resolves when all are written down. */
  async written(): Promise<void> {
    await Promise.all(this.#written);
  }

  /** Whether a version was written after a snapshot that was restored since. */
  isLost(resourceVersion: number): boolean {
    const revision = Math.floor(resourceVersion / VERSIONS_PER_REVISION);
    return this.#snapshots.some((snapshot) => revision > snapshot && revision <= snapshot + RESTORED_LATER);
  }
}
