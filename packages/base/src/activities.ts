/** Something that a process does for a while: a request, a reconcile, a scheduling round. */
export interface Activity {
  readonly kind: string;
  /** Describes the subject, such as an object's key. Called only for a report. */
  readonly about: () => string;
  readonly startedMs: number;
}

const RECENT = 32;
const REPORTED = 8;

/** The activities of a process that are running now or ended lately. Reports of event loop stalls list them. */
export class Activities {
  readonly #clock: { monotonicMs(): number };
  readonly #running = new Set<Activity>();
  readonly #ended: { readonly activity: Activity; readonly atMs: number }[] = [];

  constructor(clock: { monotonicMs(): number }) {
    this.#clock = clock;
  }

  begin(kind: string, about: () => string): Activity {
    const activity = { kind, about, startedMs: this.#clock.monotonicMs() };
    this.#running.add(activity);
    return activity;
  }

  end(activity: Activity): void {
    this.#running.delete(activity);
    if (this.#ended.length >= RECENT) this.#ended.shift();
    this.#ended.push({ activity, atMs: this.#clock.monotonicMs() });
  }

  /** Runs `work` as an activity. */
  async run<T>(kind: string, about: () => string, work: () => Promise<T>): Promise<T> {
    const activity = this.begin(kind, about);
    try {
      return await work();
    } finally {
      this.end(activity);
    }
  }

  /** Descriptions of up to 8 activities that ran after `sinceMs`, latest start first. */
  since(sinceMs: number): readonly string[] {
    const ended = this.#ended.filter(({ atMs }) => atMs >= sinceMs).map(({ activity }) => activity);
    return [...this.#running, ...ended]
      .sort((a, b) => b.startedMs - a.startedMs)
      .slice(0, REPORTED)
      .map(({ kind, about, startedMs }) => {
        const ageMs = Math.round(this.#clock.monotonicMs() - startedMs);
        return `${kind} ${about().slice(0, 300)} (began ${ageMs} ms ago)`;
      });
  }
}
