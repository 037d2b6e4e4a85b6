import { type Clock, formatTime, pause } from '@gantry/base';
import { isEtcdError, type KeyValueStore } from '@gantry/etcd';
import { listVersion } from '../cache/index.ts';

/** When the cluster had a version. */
export interface RevisionMark {
  readonly resourceVersion: string;
  /** RFC 3339. */
  readonly at: string;
}

const EVERY_MS = 5000;
const CALL_TIMEOUT_MS = 2000;
/** Any key: only its history matters. */
const ANY_KEY = '/gantry/incarnation';

/** Remembers when which revision was the newest: etcd does not. It knows the time since its process has started. */
export class RevisionMarks {
  readonly #clock: Clock;
  readonly #revision: () => number;
  readonly #keepMs: number;
  /** Oldest first. */
  #marks: { readonly revision: number; readonly atMs: number }[] = [];

  /** `keepMs`: for how long etcd keeps history. */
  constructor(options: { readonly clock: Clock; readonly revision: () => number; readonly keepMs: number }) {
    this.#clock = options.clock;
    this.#revision = options.revision;
    this.#keepMs = options.keepMs;
  }

  list(): readonly RevisionMark[] {
    return this.#marks.map(({ revision, atMs }) => ({
      resourceVersion: String(listVersion(revision)),
      at: formatTime(atMs),
    }));
  }

  /** Marks the newest revision every five seconds, while there are writes. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#mark();
      await pause(this.#clock, EVERY_MS, signal);
    }
  }

  #mark(): void {
    const [revision, now] = [this.#revision(), this.#clock.now()];
    if (revision > (this.#marks.at(-1)?.revision ?? 0)) this.#marks.push({ revision, atMs: now });
    // Compaction runs in rounds: history is kept for longer than was asked for.
    const oldest = now - 3 * this.#keepMs;
    if ((this.#marks[0]?.atMs ?? now) < oldest) this.#marks = this.#marks.filter(({ atMs }) => atMs >= oldest);
  }
}

/** Finds the oldest revision that etcd still has. */
export class OldestRevision {
  readonly #kv: Pick<KeyValueStore, 'range'>;
  /** The last one that was found: the oldest one until etcd is compacted again. */
  #known = 1;

  constructor(kv: Pick<KeyValueStore, 'range'>) {
    this.#kv = kv;
  }

  /** etcd does not say it: tries the last known one, and after a compaction searches between that and the newest. */
  async find(signal: AbortSignal): Promise<{ readonly oldest: number; readonly newest: number }> {
    const first = await this.#newestIfKept(this.#known, signal);
    if (first !== undefined) return { oldest: this.#known, newest: first };
    const { revision: newest } = await this.#kv.range({ key: ANY_KEY, fields: 'count' }, callOptions(signal));
    let [compacted, kept] = [this.#known, newest];
    while (kept - compacted > 1) {
      const middle = Math.floor((compacted + kept) / 2);
      if ((await this.#newestIfKept(middle, signal)) === undefined) compacted = middle;
      else kept = middle;
    }
    this.#known = Math.max(this.#known, kept);
    return { oldest: kept, newest };
  }

  /** The newest revision, if the given one is kept. */
  async #newestIfKept(revision: number, signal: AbortSignal): Promise<number | undefined> {
    try {
      return (await this.#kv.range({ key: ANY_KEY, fields: 'count', revision }, callOptions(signal))).revision;
    } catch (error) {
      if (isEtcdError(error, 'compacted')) return undefined;
      throw error;
    }
  }
}

function callOptions(signal: AbortSignal) {
  return { signal, timeoutMs: CALL_TIMEOUT_MS };
}
