import { append, type Instant } from '@gantry/base';

/** A request may stay this long in a backend after no route leads there: it must not meet another tenant's servers. */
const REST_MS = 600_000;
const FIRST_SIZE = 64;

/**
 * Gives backends their slots: numbered backends of HAProxy's configuration, whose number is fixed while a process runs. A new backend
 * takes a free slot, so that it needs no new process. A slot rests before it is used again.
 */
export class Slots {
  readonly #byId = new Map<string, string>();
  #resting: { readonly slot: string; readonly since: Instant }[] = [];
  #free: string[] = [];
  #size = 0;

  constructor() {
    this.#grow(0);
  }

  /** How many slots the configuration must have. */
  get size(): number {
    return this.#size;
  }

  /** The slots of exactly these backends. The size grows where no slot is left. `now` is monotonic, in milliseconds. */
  assign(ids: ReadonlySet<string>, now: Instant): ReadonlyMap<string, string> {
    for (const [id, slot] of this.#byId) {
      if (ids.has(id)) continue;
      this.#byId.delete(id);
      this.#resting.push({ slot, since: now });
    }
    const rested = this.#resting.filter(({ since }) => now - since >= REST_MS);
    this.#resting = this.#resting.filter(({ since }) => now - since < REST_MS);
    append(
      this.#free,
      rested.map(({ slot }) => slot),
    );
    const added = [...ids].filter((id) => !this.#byId.has(id));
    if (added.length > this.#free.length) this.#grow(this.#byId.size + this.#resting.length + added.length);
    for (const id of added) {
      const slot = this.#free.shift();
      if (slot !== undefined) this.#byId.set(id, slot);
    }
    return this.#byId;
  }

  /** A new process has no request of the old one. */
  renewed(): void {
    append(
      this.#free,
      this.#resting.map(({ slot }) => slot),
    );
    this.#resting = [];
  }

  #grow(needed: number): void {
    const before = this.#size;
    this.#size = Math.max(FIRST_SIZE, 2 ** Math.ceil(Math.log2(needed * 2)));
    for (let index = before; index < this.#size; index++) this.#free.push(`b${index}`);
  }
}
