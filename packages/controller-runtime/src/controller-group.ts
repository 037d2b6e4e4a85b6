import { must } from '@gantry/base';
import type { ControllerSpec } from './controller.ts';
import { ControllerRunner, type ControllerRunnerOptions } from './controller-runner.ts';
import { createEventRecorder } from './event-writer.ts';
import { LoopLog, type LoopState } from './loop-log.ts';
import { QueueMeter, type QueueObserver, type QueueState } from './queue-meter.ts';

export interface ControllerGroupOptions extends Omit<ControllerRunnerOptions, 'events' | 'meter' | 'loop'> {
  readonly controllers: readonly ControllerSpec[];
  /** Returns the observer of a controller's queue times, by the controller's name. */
  readonly observeQueue?: (name: string) => QueueObserver;
}

/** Controllers over one shared cache. Each has its own queue and its own source of Events. */
export class ControllerGroup {
  readonly #options: ControllerGroupOptions;
  readonly #meters: ReadonlyMap<string, QueueMeter>;
  readonly #loops: ReadonlyMap<string, LoopLog>;

  constructor(options: ControllerGroupOptions) {
    const { controllers, observeQueue, clock } = options;
    this.#options = options;
    this.#loops = new Map(controllers.map(({ name }) => [name, new LoopLog(clock)]));
    this.#meters = new Map(controllers.map(({ name }) => [name, new QueueMeter(name, observeQueue?.(name))]));
  }

  /** Reconciles until `stop` is aborted and running reconciles have ended, which `act` makes them do. One run at a time. */
  async run(stop: AbortSignal, act: AbortSignal): Promise<void> {
    const { controllers, log } = this.#options;
    log.info({ controllers: controllers.length }, 'controllers start');
    try {
      await Promise.all(controllers.map((spec) => this.#runController(spec, stop, act)));
    } finally {
      log.info({}, 'controllers stopped');
    }
  }

  /** The queues of all controllers, for metrics. */
  queues(): readonly QueueState[] {
    const now = this.#options.clock.monotonicMs();
    return [...this.#meters.values()].map((meter) => meter.state(now));
  }

  /** What each controller does, and what it did last. */
  loops(): readonly LoopState[] {
    return this.queues().flatMap((queue) => this.#loops.get(queue.name)?.state(queue) ?? []);
  }

  async #runController(spec: ControllerSpec, stop: AbortSignal, act: AbortSignal): Promise<void> {
    const events = createEventRecorder({ ...this.#options, component: spec.eventSource });
    const { name } = spec;
    const loop = must(this.#loops.get(name), 'the log of a controller');
    const runner = new ControllerRunner(spec, { ...this.#options, events, meter: this.#meters.get(name), loop });
    try {
      await runner.run(stop, act);
      await events.flush(act);
    } finally {
      events.close();
    }
  }
}
