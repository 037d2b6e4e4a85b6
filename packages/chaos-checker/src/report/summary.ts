import type { Run } from '../artifacts.ts';
import type { World } from '../history/world.ts';
import type { Observer } from '../invariants/invariant.ts';

/** A stretch of time on a row of the time line. */
export interface Span {
  readonly row: string;
  readonly label: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What the report draws of a run. Its size does not depend on the number of lines. */
export interface Summary {
  readonly run: Run;
  /** One row for each kind of fault. */
  readonly faults: readonly Span[];
  /** Terms of leaders, one row for each election. */
  readonly terms: readonly Span[];
  /** Of requests that ended in each of equal parts of the run: the slowest and the median, in milliseconds. */
  readonly latencies: readonly {
    readonly fromMs: number;
    readonly count: number;
    readonly medianMs: number;
    readonly maxMs: number;
  }[];
  /** The longest times without an acknowledged request while clients asked, longest first. */
  readonly gaps: readonly { readonly fromMs: number; readonly untilMs: number }[];
  readonly requests: { readonly ok: number; readonly fail: number; readonly unknown: number };
}

const PARTS = 300;
/** Latencies are counted in classes that grow by a fifth, so that medians need no list. */
const CLASS_FACTOR = 1.2;
const MAX_SPANS = 2000;
const MAX_GAPS = 10;
/** Clients of which no request is under way for so long ask no more, as after the end of the workloads: they try again sooner. */
export const RESTING_MS = 10_000;

/** Collects the summary while the run is checked. */
export class SummaryObserver implements Observer {
  readonly #run: Run;
  readonly #world: World;
  readonly #faults: Span[] = [];
  readonly #openFaults = new Map<string, { readonly kind: string; readonly target: string; readonly fromMs: number }>();
  readonly #terms: Span[] = [];
  readonly #openTerms = new Map<string, { readonly epoch: number; readonly holder: string; readonly fromMs: number }>();
  readonly #invoked = new Map<string, number>();
  readonly #classes = Array.from({ length: PARTS }, () => new Map<number, number>());
  readonly #slowest = Array.from({ length: PARTS }, () => 0);
  readonly #requests = { ok: 0, fail: 0, unknown: 0 };
  #gaps: { fromMs: number; untilMs: number }[] = [];
  /** The last acknowledgement, or since when clients that had rested ask again. */
  #askingSinceMs: number | undefined;
  #lastEndMs: number | undefined;

  constructor(run: Run, world: World) {
    this.#run = run;
    this.#world = world;
  }

  begin(): void {
    for (const [key, { epoch, holder }] of this.#world.terms) {
      this.#openTerms.set(key, { epoch, holder, fromMs: this.#run.startedAtMs });
    }
  }

  key({ key, value, createRevision, atMs }: Parameters<NonNullable<Observer['key']>>[0]): void {
    if (!key.startsWith('/gantry/elections/')) return;
    const open = this.#openTerms.get(key);
    if (value !== undefined && open?.epoch === createRevision) return;
    this.#endTerm(key, atMs);
    if (value !== undefined)
      this.#openTerms.set(key, { epoch: createRevision, holder: value.toString(), fromMs: atMs });
  }

  fault({ id, kind, target, phase, atMs }: Parameters<NonNullable<Observer['fault']>>[0]): void {
    if (phase === 'start') this.#openFaults.set(id, { kind, target, fromMs: atMs });
    else this.#endFault(id, atMs);
  }

  client(line: Parameters<NonNullable<Observer['client']>>[0], source: { readonly file: string }): void {
    if (!('op' in line)) return;
    const id = `${source.file} ${line.op}`;
    if (line.phase === 'invoke') {
      const isRested = this.#invoked.size === 0 && line.atMs - (this.#lastEndMs ?? line.atMs) >= RESTING_MS;
      if (isRested) this.#askingSinceMs = line.atMs;
      this.#invoked.set(id, line.atMs);
      return;
    }
    this.#lastEndMs = line.atMs;
    this.#requests[line.phase]++;
    const fromMs = this.#invoked.get(id);
    this.#invoked.delete(id);
    if (fromMs !== undefined) this.#count(line.atMs, line.atMs - fromMs);
    if (line.phase === 'ok') this.#ok(line.atMs);
  }

  finish(): void {
    for (const id of this.#openFaults.keys()) this.#endFault(id, this.#run.endedAtMs);
    for (const key of this.#openTerms.keys()) this.#endTerm(key, this.#run.endedAtMs);
  }

  summary(): Summary {
    const partMs = this.#partMs();
    const latencies = this.#classes.flatMap((classes, part) => {
      const count = [...classes.values()].reduce((sum, one) => sum + one, 0);
      const fromMs = this.#run.startedAtMs + part * partMs;
      return count === 0
        ? []
        : [{ fromMs, count, medianMs: medianOf(classes, count), maxMs: this.#slowest[part] ?? 0 }];
    });
    return {
      run: this.#run,
      faults: this.#faults,
      terms: this.#terms,
      latencies,
      gaps: this.#gaps,
      requests: this.#requests,
    };
  }

  #endFault(id: string, untilMs: number): void {
    const open = this.#openFaults.get(id);
    this.#openFaults.delete(id);
    if (open === undefined || this.#faults.length >= MAX_SPANS) return;
    this.#faults.push({ row: open.kind, label: `${open.kind} ${open.target}`, fromMs: open.fromMs, untilMs });
  }

  #endTerm(key: string, untilMs: number): void {
    const open = this.#openTerms.get(key);
    this.#openTerms.delete(key);
    if (open === undefined || this.#terms.length >= MAX_SPANS) return;
    const row = key.slice('/gantry/elections/'.length);
    this.#terms.push({ row, label: `epoch ${open.epoch} of ${open.holder}`, fromMs: open.fromMs, untilMs });
  }

  #count(atMs: number, latencyMs: number): void {
    const part = Math.min(PARTS - 1, Math.max(0, Math.floor((atMs - this.#run.startedAtMs) / this.#partMs())));
    const classes = this.#classes[part];
    const number = Math.max(0, Math.ceil(Math.log(Math.max(1, latencyMs)) / Math.log(CLASS_FACTOR)));
    classes?.set(number, (classes.get(number) ?? 0) + 1);
    this.#slowest[part] = Math.max(this.#slowest[part] ?? 0, latencyMs);
  }

  #ok(atMs: number): void {
    const fromMs = this.#askingSinceMs;
    this.#askingSinceMs = atMs;
    if (fromMs === undefined) return;
    const shortest = this.#gaps.at(-1);
    if (this.#gaps.length >= MAX_GAPS && shortest !== undefined && atMs - fromMs <= shortest.untilMs - shortest.fromMs)
      return;
    this.#gaps = [...this.#gaps, { fromMs, untilMs: atMs }]
      .toSorted((one, other) => other.untilMs - other.fromMs - (one.untilMs - one.fromMs))
      .slice(0, MAX_GAPS);
  }

  #partMs(): number {
    return Math.max(1, (this.#run.endedAtMs - this.#run.startedAtMs) / PARTS);
  }
}

function medianOf(classes: ReadonlyMap<number, number>, count: number): number {
  let seen = 0;
  for (const number of [...classes.keys()].toSorted((one, other) => one - other)) {
    seen += classes.get(number) ?? 0;
    if (seen * 2 >= count) return CLASS_FACTOR ** number;
  }
  return 0;
}
