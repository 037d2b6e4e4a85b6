/** The number of places: in total and per address. */
export interface PlaceLimits {
  readonly max: number;
  readonly maxOfAddress: number;
}

/** A limited number of places, with a limit per address. */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofAddress = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Takes a place; undefined when there is none. Dispose of the result to free it; disposing twice is harmless. */
  take(address: string): Disposable | undefined {
    const { max, maxOfAddress } = this.#limits;
    const own = this.#ofAddress.get(address) ?? 0;
    if (this.#taken >= max || own >= maxOfAddress) return undefined;
    this.#taken++;
    this.#ofAddress.set(address, own + 1);
    let isTaken = true;
    const leave = (): void => {
      if (!isTaken) return;
      isTaken = false;
      this.#taken--;
      const left = (this.#ofAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#ofAddress.delete(address);
      else this.#ofAddress.set(address, left);
    };
    return { [Symbol.dispose]: leave };
  }
}
