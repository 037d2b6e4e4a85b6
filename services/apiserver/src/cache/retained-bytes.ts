/** An owner of cached bytes, which it can encode again. */
export interface Retainer {
  release(form: string): void;
}

interface Kept {
  readonly retainer: WeakRef<Retainer>;
  readonly form: string;
  readonly bytes: number;
}

/**
 * Limits the memory of encoded representations of objects (JSON, protobuf, frames of watches). The oldest are dropped first, and encoded
 * again when needed. Representations of deleted objects still count until they are dropped, so the actual use may be lower.
 */
export class RetainedBytes {
  readonly limit: number;
  #total = 0;
  #kept: Kept[] = [];
  #head = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get total(): number {
    return this.#total;
  }

  add(retainer: Retainer, form: string, bytes: number): void {
    this.#kept.push({ retainer: new WeakRef(retainer), form, bytes });
    this.#total += bytes;
    while (this.#total > this.limit) {
      const oldest = this.#kept[this.#head++];
      if (oldest === undefined) break;
      this.#total -= oldest.bytes;
      oldest.retainer.deref()?.release(oldest.form);
    }
    if (this.#head > 1024 && this.#head * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#head);
      this.#head = 0;
    }
  }
}
