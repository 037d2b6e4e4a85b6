import { type Clock, errorMessage, formatTime } from '@gantry/base';
import type { ObjectWrite } from '@gantry/client';
import type { KubeObject } from '@gantry/objects';
import type { EventRecorder } from './event-recorder.ts';
import type { ReconcileReport } from './reconcile-report.ts';
import type { QueueState } from './queue-meter.ts';
import type { ReconcileKey } from './reconcile-key.ts';

/** A write of a reconcile. `subresource` is '' for the object itself. */
export interface LoopWrite {
  readonly verb: ObjectWrite['verb'];
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A reconcile that wrote something, recorded an Event, or failed. */
export interface LoopDecision {
  /** When it ended, RFC 3339. */
  readonly at: string;
  readonly key: ReconcileKey;
  readonly result: ReconcileReport['result'];
  readonly seconds: number;
  /** The writes that succeeded: the first ones, and how many there were. */
  readonly writes: readonly LoopWrite[];
  readonly writeCount: number;
  /** The reasons that it gave, most of them as Events. */
  readonly events: readonly { readonly reason: string; readonly message: string }[];
  /** Why it failed; absent otherwise. */
  readonly error?: string;
}

/** What a control loop does, and what it did last. Counts begin with the process. */
export interface LoopState {
  readonly name: string;
  readonly queue: Omit<QueueState, 'name'>;
  readonly reconciles: {
    readonly total: number;
    readonly failed: number;
    readonly conflicts: number;
    /** The mean of the last ten seconds. */
    readonly perSecond: number;
    readonly meanSeconds: number;
    readonly longestSeconds: number;
  };
  /** Newest first. */
  readonly decisions: readonly LoopDecision[];
}

/** The part of a decision that grows while a reconcile runs. */
export interface RunningReconcile {
  readonly onWrite: (write: ObjectWrite, object: KubeObject) => void;
  /** Writes Events, which are reasons too. */
  readonly events: EventRecorder;
  /** Adds a reason without an Event. */
  because(reason: string, message: string): void;
  ended(result: ReconcileReport['result'], seconds: number, error?: unknown): void;
}

const DECISIONS = 20;
const WRITES = 5;
const EVENTS = 3;
const MESSAGE_LENGTH = 500;
/** Seconds over which the rate is the mean. */
const WINDOW = 10;

/** Remembers what one control loop did last, over all its terms. */
export class LoopLog {
  readonly #clock: Clock;
  /** Newest last. */
  readonly #decisions: LoopDecision[] = [];
  /** Reconciles that ended in each of the last seconds, by the second modulo the size. */
  readonly #perSecond = Array.from({ length: WINDOW + 1 }, () => ({ second: -1, count: 0 }));
  #total = 0;
  #failed = 0;
  #conflicts = 0;
  #seconds = 0;
  #longest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reconcile begins. `recorder` writes its Events. Most reconciles write nothing: lists are made at the first entry. */
  begin(key: ReconcileKey, recorder?: EventRecorder): RunningReconcile {
    let writes: LoopWrite[] | undefined;
    let writeCount = 0;
    let reasons: { reason: string; message: string }[] | undefined;
    const because = (reason: string, message: string): void => {
      reasons ??= [];
      if (reasons.length < EVENTS) reasons.push({ reason, message: message.slice(0, MESSAGE_LENGTH) });
    };
    return {
      because,
      onWrite: (write, object) => {
        writes ??= [];
        if (writeCount++ < WRITES) writes.push(shown(write, object));
      },
      events: {
        event: (about, type, reason, message, fieldPath) => {
          because(reason, message);
          recorder?.event(about, type, reason, message, fieldPath);
        },
      },
      ended: (result, seconds, error) => {
        this.count(result, seconds);
        if (writes === undefined && reasons === undefined && error === undefined) return;
        this.#decisions.push({
          at: formatTime(this.#clock.now()),
          key,
          result,
          seconds,
          writes: writes ?? [],
          writeCount,
          events: reasons ?? [],
          ...(error === undefined ? {} : { error: errorMessage(error).slice(0, MESSAGE_LENGTH) }),
        });
        if (this.#decisions.length > DECISIONS) this.#decisions.shift();
      },
    };
  }

  state({ name, ...queue }: QueueState): LoopState {
    return { name, queue, reconciles: this.counts(), decisions: this.#decisions.toReversed() };
  }

  counts(): LoopState['reconciles'] {
    const total = this.#total;
    return {
      total,
      failed: this.#failed,
      conflicts: this.#conflicts,
      perSecond: this.#rate(),
      meanSeconds: total === 0 ? 0 : this.#seconds / total,
      longestSeconds: this.#longest,
    };
  }

  /** Counts a round of a loop that has its own record of decisions. */
  count(result: ReconcileReport['result'], seconds: number): void {
    this.#total += 1;
    if (result === 'failed') this.#failed += 1;
    if (result === 'conflict') this.#conflicts += 1;
    this.#seconds += seconds;
    this.#longest = Math.max(this.#longest, seconds);
    const second = this.#second();
    const bucket = this.#perSecond[second % this.#perSecond.length];
    if (bucket === undefined) return;
    if (bucket.second !== second) Object.assign(bucket, { second, count: 0 });
    bucket.count += 1;
  }

  /** Of the last whole seconds. */
  #rate(): number {
    const now = this.#second();
    let sum = 0;
    for (const { second, count } of this.#perSecond) if (second < now && second >= now - WINDOW) sum += count;
    return sum / WINDOW;
  }

  #second(): number {
    return Math.floor(this.#clock.monotonicMs() / 1000);
  }
}

function shown(write: ObjectWrite, object: KubeObject): LoopWrite {
  const { verb, resource } = write;
  const { namespace = '', name = '' } = write.verb === 'create' ? object.metadata : write.key;
  const subresource = 'subresource' in write ? (write.subresource ?? '') : '';
  return { verb, group: resource.group, resource: resource.resource, subresource, namespace, name };
}
