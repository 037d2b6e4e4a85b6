import type { Clock } from '@gantry/base';
import { type EventRecorder, LoopLog, type LoopState, QueueMeter, type ReconcileKey } from '@gantry/controller-runtime';

/** A step that runs. */
export interface RunningStep {
  /** Call it once. A step that was aborted is repeated. */
  ended(how: 'done' | 'aborted' | 'failed', error?: unknown): void;
}

const LOOP = 'pods';

/** What the workers of a node's pods do, as one control loop: each step of a worker is a reconcile. */
export class StepLog {
  /** Writes Events. Those about a pod whose step runs are part of what the step did. */
  readonly events: EventRecorder;
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  readonly #log: LoopLog;
  readonly #meter = new QueueMeter(LOOP);
  readonly #running = new Map<string, EventRecorder>();
  #waiting = 0;

  constructor(clock: Clock, recorder: EventRecorder) {
    this.#clock = clock;
    this.#recorder = recorder;
    this.#log = new LoopLog(clock);
    this.events = {
      event: (about, ...what) => {
        const { uid = '' } = about.metadata;
        (this.#running.get(uid) ?? recorder).event(about, ...what);
      },
    };
  }

  /** A step of a pod's worker begins. A worker has one at a time. */
  begin(uid: string, key: ReconcileKey): RunningStep {
    const startedMs = this.#clock.monotonicMs();
    const running = this.#log.begin(key, this.#recorder);
    this.#meter.added();
    this.#meter.taken(uid, startedMs, startedMs);
    this.#running.set(uid, running.events);
    return {
      ended: (how, error) => {
        const now = this.#clock.monotonicMs();
        this.#meter.done(uid, now);
        this.#running.delete(uid);
        running.ended(how === 'aborted' ? 'requeued' : how, (now - startedMs) / 1000, error);
      },
    };
  }

  /** A worker waits after a failure, until the result is disposed. */
  backOff(): Disposable {
    this.#meter.retried();
    this.#meter.waiting(++this.#waiting);
    return { [Symbol.dispose]: () => this.#meter.waiting(--this.#waiting) };
  }

  state(): LoopState {
    return this.#log.state(this.#meter.state(this.#clock.monotonicMs()));
  }
}
