import type { PullProgress } from '../runtime/images.ts';

/** A line of the engine's report of a pull. */
export interface PullLine {
  readonly error?: string;
  /** Of a layer. */
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** The engine's storage drivers take fewer layers (overlay2: 128); a registry may announce any number. */
const MAX_LAYERS = 256;
/** Larger layers are not counted: the sum of all of them is exact. */
const MAX_LAYER_BYTES = 2 ** 44;

/** Adds up what the engine reports of each layer. Time of a line and memory do not depend on how many layers a registry announces. */
export class LayerProgress {
  readonly #layers = new Map<string, PullProgress>();
  #bytes = 0;
  #totalBytes = 0;

  /** How far the pull is after a line; undefined for a line that says nothing of it. Layers that have not begun count nothing. */
  note({ id, status, progressDetail: { current, total } = {} }: PullLine): PullProgress | undefined {
    if (id === undefined) return undefined;
    const known = this.#layers.get(id);
    if (status === 'Downloading' && current !== undefined && total !== undefined) {
      if (!(current >= 0 && total > 0 && total <= MAX_LAYER_BYTES)) return undefined;
      if (known === undefined && this.#layers.size >= MAX_LAYERS) return undefined;
      return this.#replace(id, { bytes: Math.min(current, total), totalBytes: total });
    }
    if (status === 'Download complete' && known !== undefined)
      return this.#replace(id, { bytes: known.totalBytes, totalBytes: known.totalBytes });
    return undefined;
  }

  #replace(id: string, layer: PullProgress): PullProgress {
    const { bytes, totalBytes } = this.#layers.get(id) ?? { bytes: 0, totalBytes: 0 };
    this.#layers.set(id, layer);
    this.#bytes += layer.bytes - bytes;
    this.#totalBytes += layer.totalBytes - totalBytes;
    return { bytes: this.#bytes, totalBytes: this.#totalBytes };
  }
}
