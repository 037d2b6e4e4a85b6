/** The number of remembered results. Each can have megabytes, and a pod can refer to any number of objects and files. */
const MAX_REMEMBERED = 4;

/** Remembers the results of the last reads by key, so that many references of a pod to one object or file cost one read and one copy. */
export class RecentReads {
  readonly #results = new Map<string, unknown>();

  /** The remembered result, or that of `read`. A key must always have results of one type. */
  async get<T>(key: string, read: () => Promise<T>): Promise<T> {
    const found = this.#results.has(key) ? (this.#results.get(key) as T) : await read();
    // The last one is the most recently used.
    this.#results.delete(key);
    this.#results.set(key, found);
    const [oldest] = this.#results.keys();
    if (this.#results.size > MAX_REMEMBERED && oldest !== undefined) this.#results.delete(oldest);
    return found;
  }
}
