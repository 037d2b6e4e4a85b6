import { formatKey, type Job, keyOf, type ObjectKey, type Pod } from '@gantry/objects';
import { type BackoffRecord, NO_FAILURES } from './backoff.ts';
import { hasFinalizer } from './job-rules.ts';

/** What the controller remembers of a Job within a term. */
export interface RememberedJob {
  readonly uid: string;
  backoff: BackoffRecord;
  /** Uids of pods whose finalizer was removed, as long as the cache shows it. */
  readonly settled: Set<string>;
}

/** What cannot be read from the API: failures since the last success, and writes that the cache may not show. */
export class JobMemory {
  readonly #jobs = new Map<string, RememberedJob>();

  clear(): void {
    this.#jobs.clear();
  }

  forget(key: ObjectKey): void {
    this.#jobs.delete(formatKey(key));
  }

  /** What is known of a Job, given its pods as the cache shows them. */
  of(job: Job, pods: readonly Pod[]): RememberedJob {
    const key = formatKey(keyOf(job));
    const { uid = '' } = job.metadata;
    const known = this.#jobs.get(key);
    if (known?.uid !== uid) {
      const fresh = { uid, backoff: NO_FAILURES, settled: new Set<string>() };
      this.#jobs.set(key, fresh);
      return fresh;
    }
    if (known.settled.size > 0) {
      const shown = new Set(pods.filter(hasFinalizer).map(({ metadata }) => metadata.uid));
      for (const settled of known.settled) if (!shown.has(settled)) known.settled.delete(settled);
    }
    return known;
  }
}
