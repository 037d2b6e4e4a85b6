import { append, type Instant } from '@gantry/base';

/**
 * The time that a slot rests. A request may stay in a backend for this long after the last route to it is gone. It must not reach another
 * tenant's servers.
 */
const REST_MS = 600_000;
const FIRST_SIZE = 64;
/** Each slot takes about 9 kB in HAProxy. */
const MAX_SIZE = 8192;
/**
 * The maximum number of slots of one namespace, including its resting slots. A namespace that changes its Services all the time then
 * leaves slots to others.
 */
const MAX_OF_NAMESPACE = 1000;

/**
 * Assigns slots to backends. Slots are numbered backends in HAProxy's configuration, and their number is fixed while a process runs. A
 * new backend takes a free slot, so it needs no new process. A slot rests before it is used again.
 */
export class Slots {
  readonly #byId = new Map<string, string>();
  #resting: { readonly slot: string; readonly namespace: string; readonly since: Instant }[] = [];
  #free: string[] = [];
  #size = 0;
  #isShort = false;

  constructor() {
    this.#grow(0);
  }

  /** The number of slots that the configuration must have. */
  get size(): number {
    return this.#size;
  }

  /** Whether a backend waits for resting slots. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * Returns the slots of these backends. Their ids begin with a namespace and a slash. The size grows if no slot is left. A backend gets
   * no slot if the size cannot grow, or if its namespace has too many slots. `now` is monotonic, in milliseconds.
   */
  assign(ids: ReadonlySet<string>, now: Instant): ReadonlyMap<string, string> {
    for (const [id, slot] of this.#byId) {
      if (ids.has(id)) continue;
      this.#byId.delete(id);
      this.#resting.push({ slot, namespace: namespaceOf(id), since: now });
    }
    const rested = this.#resting.filter(({ since }) => now - since >= REST_MS);
    this.#resting = this.#resting.filter(({ since }) => now - since < REST_MS);
    append(
      this.#free,
      rested.map(({ slot }) => slot),
    );
    const added = this.#allowed([...ids].filter((id) => !this.#byId.has(id)));
    if (added.length > this.#free.length) this.#grow(this.#byId.size + this.#resting.length + added.length);
    for (const id of added) {
      const slot = this.#free.shift();
      if (slot !== undefined) this.#byId.set(id, slot);
    }
    this.#isShort = this.#byId.size < ids.size;
    return this.#byId;
  }

  #allowed(ids: readonly string[]): readonly string[] {
    const counts = new Map<string, number>();
    const count = (namespace: string) => {
      const number = (counts.get(namespace) ?? 0) + 1;
      counts.set(namespace, number);
      return number;
    };
    for (const id of this.#byId.keys()) count(namespaceOf(id));
    for (const { namespace } of this.#resting) count(namespace);
    return ids.filter((id) => count(namespaceOf(id)) <= MAX_OF_NAMESPACE);
  }

  /** Frees all resting slots, because a new process has no requests of the old one. */
  renewed(): void {
    append(
      this.#free,
      this.#resting.map(({ slot }) => slot),
    );
    this.#resting = [];
  }

  #grow(needed: number): void {
    const before = this.#size;
    this.#size = Math.min(MAX_SIZE, Math.max(FIRST_SIZE, before, 2 ** Math.ceil(Math.log2(needed * 2))));
    for (let index = before; index < this.#size; index++) this.#free.push(`b${index}`);
  }
}

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
