import { StatusError } from '@gantry/objects';

/**
 * The maximum number of values plus keys in one document. Kubernetes has no such limit. The time for decoding, validating and storing grows
 * with this number rather than with the bytes: 3 MiB can hold 1.5 million of them, but real objects of that size have more than 30 bytes
 * per value on average.
 */
export const MAX_VALUES = 100_000;

/** Kubernetes reports at most this many unknown and duplicate fields. */
export const MAX_REPORTED = 100;

/** The limit for YAML, which takes twice the time. */
export const MAX_YAML_VALUES = MAX_VALUES / 2;

/** Counts the values and keys of one document. */
export class ValueCount {
  readonly #limit: number;
  #values = 0;

  constructor(limit = MAX_VALUES) {
    this.#limit = limit;
  }

  get values(): number {
    return this.#values;
  }

  /** Whether there is room for this many more. */
  hasRoom(values: number): boolean {
    return this.#values + values <= this.#limit;
  }

  /** Throws StatusError RequestEntityTooLarge beyond the limit. */
  add(values: number): void {
    this.#values += values;
    if (this.#values > this.#limit)
      throw new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${this.#limit} values`);
  }
}
