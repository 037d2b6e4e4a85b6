import type { Clock } from '@gantry/base';
import { formatKey, keyOf, parseApiVersion, type Resource } from '@gantry/objects';
import type { InformerEvent } from './informers.ts';
import { LoopLog, type LoopState } from './loop-log.ts';
import { QueueMeter } from './queue-meter.ts';
import type { ReconcileKey } from './reconcile-key.ts';

/** A run of the loop over all changes that waited. */
export interface RunningChanges {
  /** The changes had an effect, so the run is a decision. `message` says which effect. */
  took(message: string): void;
  /** Call it once. After an error the changes wait again. */
  ended(error?: unknown): void;
}

export interface ChangeLoopOptions {
  readonly name: string;
  /** The resources whose changes are shown as reasons. Changes of other resources are only counted. */
  readonly shown: readonly Pick<Resource, 'resource' | 'kind'>[];
  readonly clock: Clock;
}

interface Reason {
  readonly key: ReconcileKey;
  readonly reason: string;
}

/** As many as a decision shows. */
const MAX_REASONS = 3;

/** The record of a control loop that works on all changes of its caches together, without an election and without writes to the API. */
export class ChangeLoop {
  readonly #options: ChangeLoopOptions;
  readonly #kinds: ReadonlyMap<string, string>;
  readonly #log: LoopLog;
  readonly #meter: QueueMeter;
  #waiting = 0;
  /** The first ones of the changes that wait. */
  #reasons: Reason[] = [];

  constructor(options: ChangeLoopOptions) {
    this.#options = options;
    this.#kinds = new Map(options.shown.map(({ resource, kind }) => [resource, kind]));
    this.#log = new LoopLog(options.clock);
    this.#meter = new QueueMeter(options.name);
  }

  /** Notes the changes of an event of the caches. Runs take them. */
  take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    const kind = this.#kinds.get(event.resource.resource);
    for (const { object, old } of event.changes) {
      this.#meter.added();
      this.#waiting += 1;
      const subject = object ?? old;
      if (kind === undefined || subject === undefined || this.#reasons.length >= MAX_REASONS) continue;
      const { group } = parseApiVersion(subject.apiVersion);
      const what = old === undefined ? 'Created' : object === undefined ? 'Deleted' : 'Updated';
      this.#reasons.push({ key: { group, kind, ...keyOf(subject) }, reason: `${kind}${what}` });
    }
    this.#meter.waiting(this.#waiting);
  }

  /** A run begins. Runs must not overlap. */
  begin(): RunningChanges {
    const { name, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const [count, reasons] = [this.#waiting, this.#reasons];
    this.#wait(0, []);
    this.#meter.taken(name, startedMs, startedMs);
    const running = this.#log.begin(reasons[0]?.key ?? { namespace: '', name });
    const because = (message: string) => {
      if (reasons.length === 0) running.because('OtherChanges', message);
      for (const { key, reason } of reasons) running.because(reason, `${formatKey(key)}: ${message}`);
    };
    return {
      took: because,
      ended: (error) => {
        const now = clock.monotonicMs();
        this.#meter.done(name, now);
        if (error !== undefined) {
          this.#meter.retried();
          this.#wait(this.#waiting + count, [...reasons, ...this.#reasons].slice(0, MAX_REASONS));
        }
        running.ended(error === undefined ? 'done' : 'failed', (now - startedMs) / 1000, error);
      },
    };
  }

  state(): LoopState {
    return this.#log.state(this.#meter.state(this.#options.clock.monotonicMs()));
  }

  #wait(count: number, reasons: Reason[]): void {
    this.#waiting = count;
    this.#reasons = reasons;
    this.#meter.waiting(count);
  }
}
