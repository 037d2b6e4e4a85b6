import type { PullProgress } from '../runtime/images.ts';

/** A line of the engine's report of a pull. */
export interface PullLine {
  readonly error?: string;
  /** Of a layer. */
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** Adds up what the engine reports of each layer. */
export class LayerProgress {
  readonly #layers = new Map<string, PullProgress>();

  /** How far the pull is after a line; undefined for a line that says nothing of it. Layers that have not begun count nothing. */
  note({ id, status, progressDetail: { current, total } = {} }: PullLine): PullProgress | undefined {
    if (id === undefined) return undefined;
    const known = this.#layers.get(id);
    if (status === 'Downloading' && current !== undefined && total !== undefined && total > 0) {
      this.#layers.set(id, { bytes: Math.min(current, total), totalBytes: total });
    } else if (status === 'Download complete' && known !== undefined) {
      this.#layers.set(id, { bytes: known.totalBytes, totalBytes: known.totalBytes });
    } else return undefined;
    const all = [...this.#layers.values()];
    return {
      bytes: all.reduce((sum, layer) => sum + layer.bytes, 0),
      totalBytes: all.reduce((sum, layer) => sum + layer.totalBytes, 0),
    };
  }
}
