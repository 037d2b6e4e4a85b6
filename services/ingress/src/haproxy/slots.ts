import { append, type Instant } from '@gantry/base';

/** A request may stay this long in a backend after no route leads there: it must not meet another tenant's servers. */
const REST_MS = 600_000;
const FIRST_SIZE = 64;
/** Each takes HAProxy about 9 kB. */
const MAX_SIZE = 8192;
/** Slots of one namespace with those that rest after it: one that changes its Services all the time leaves slots to others. */
const MAX_OF_NAMESPACE = 1000;

/**
 * Gives backends their slots: numbered backends of HAProxy's configuration, whose number is fixed while a process runs. A new backend
 * takes a free slot, so that it needs no new process. A slot rests before it is used again.
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

  /** How many slots the configuration must have. */
  get size(): number {
    return this.#size;
  }

  /** Whether a backend waits for slots that rest. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * The slots of these backends, whose ids begin with a namespace and a slash. The size grows where no slot is left. A backend has none where
   * the size cannot grow, or its namespace has too many. `now` is monotonic, in milliseconds.
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
    this.#size = Math.min(MAX_SIZE, Math.max(FIRST_SIZE, before, 2 ** Math.ceil(Math.log2(needed * 2))));
    for (let index = before; index < this.#size; index++) this.#free.push(`b${index}`);
  }
}

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
