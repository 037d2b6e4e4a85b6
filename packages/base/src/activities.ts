/** Something that a process does for a while: a request, a reconcile, a scheduling round. */
export interface Activity {
  readonly kind: string;
  /** What it is about. Put together only when it is reported. */
  readonly about: () => string;
  readonly startedMs: number;
}

const RECENT = 32;
const REPORTED = 8;

/** What a process does at present and did last, so that a stall of its event loop can be reported with what ran. */
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

  /** Texts of what ran at some time since `sinceMs`; what began last comes first. */
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
