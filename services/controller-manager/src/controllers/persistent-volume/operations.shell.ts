import type { VolumeMeter, VolumeOperation } from './meter.shell.ts';

interface Begun extends VolumeOperation {
  readonly atMs: number;
}

/** Which volumes are being provisioned and deleted, and since when: an operation ends in a later reconcile, or is begun again. */
export class VolumeOperations {
  readonly #meter: VolumeMeter;
  /** By the key of a claim that is provisioned for, or the name of a volume that is deleted. */
  readonly #begun = new Map<string, Begun>();

  constructor(meter: VolumeMeter) {
    this.#meter = meter;
  }

  clear(): void {
    this.#begun.clear();
  }

  /** One that has been begun is not begun anew. */
  begin(id: string, operation: VolumeOperation, nowMs: number): void {
    if (!this.#begun.has(id)) this.#begun.set(id, { ...operation, atMs: nowMs });
  }

  /** An attempt has failed; the operation goes on. */
  failed(id: string): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) this.#meter.operationFailed(begun);
  }

  ended(id: string, nowMs: number): void {
    const begun = this.#begun.get(id);
    if (begun === undefined) return;
    this.#begun.delete(id);
    this.#meter.operationEnded(begun, (nowMs - begun.atMs) / 1000);
  }

  /** What it was for is gone. */
  forget(id: string): void {
    this.#begun.delete(id);
  }
}
