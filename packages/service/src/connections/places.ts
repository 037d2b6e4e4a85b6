/** How many places there are, for all addresses together and for one. */
export interface PlaceLimits {
  readonly max: number;
  readonly maxOfAddress: number;
}

/** Places for a number of things at once, of which one address may have a share. */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofAddress = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** A place until it is disposed of, which may be done twice; undefined when there is none. */
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
