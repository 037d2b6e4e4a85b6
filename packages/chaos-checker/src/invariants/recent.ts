/** The values that something had within the last milliseconds: what a view of it may show that is that old. */
export class Recent<T> {
  readonly #windowMs: number;
  readonly #values: { readonly atMs: number; readonly value: T }[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** It has this value from now on. Times do not fall. */
  add(atMs: number, value: T): void {
    this.#values.push({ atMs, value });
    this.#forget(atMs);
  }

  /** The present value and those that ended within the window. Empty before the first value. */
  at(atMs: number): readonly T[] {
    this.#forget(atMs);
    return this.#values.map(({ value }) => value);
  }

  /** A value matters until the next one is as old as the window. */
  #forget(atMs: number): void {
    while ((this.#values[1]?.atMs ?? Number.POSITIVE_INFINITY) < atMs - this.#windowMs) this.#values.shift();
  }
}
