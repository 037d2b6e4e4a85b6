import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import {
  createEventSeriesRecorder,
  type FenceHolder,
  type Informers,
  keepLeaderRecord,
  type Log,
  type Term,
} from '@gantry/controller-runtime';
import type { ClusterView } from './cluster-view.ts';
import type { SchedulingQueue } from './queue.ts';
import { runSchedulingCycles, type SchedulerOptions } from './scheduler.ts';

export interface SchedulingLeaderOptions {
  /** Writes with the fence of `fences`. */
  readonly client: ObjectClient;
  readonly fences: FenceHolder;
  readonly informers: Informers;
  readonly view: ClusterView;
  readonly queue: SchedulingQueue;
  /** Whose leadership is shown to clients: the component and this process among its kind. */
  readonly component: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onResult: NonNullable<SchedulerOptions['onResult']>;
  readonly onPreemption: NonNullable<SchedulerOptions['onPreemption']>;
}

const EVENT_SOURCE = 'default-scheduler';
const ACTIONS = { Scheduled: 'Binding', FailedScheduling: 'Scheduling', Preempted: 'Preempting' };

/** Schedules while it leads. */
export class SchedulingLeader {
  readonly #options: SchedulingLeaderOptions;
  readonly #draining = new AbortController();
  #acting: Promise<void> = Promise.resolve();

  constructor(options: SchedulingLeaderOptions) {
    this.#options = options;
  }

  /**
   * Leads a term: schedules once the caches have reached its epoch, until the signal is aborted and nothing is under way any
   * more. One term at a time.
   */
  async lead(term: Term, signal: AbortSignal): Promise<void> {
    if (!signal.aborted && !this.#draining.signal.aborted) {
      this.#acting = this.#act(term, signal);
      await this.#acting;
    }
    // Finished by draining: the term itself ends when the election says so.
    if (signal.aborted) return;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  /** Takes nothing new, in this term and all later ones, and resolves when what is under way is finished. */
  async drain(): Promise<void> {
    this.#draining.abort();
    await Promise.allSettled([this.#acting]);
  }

  async #act(term: Term, signal: AbortSignal): Promise<void> {
    const { informers, fences, view, queue, component, identity, onResult, onPreemption, ...shared } = this.#options;
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, this.#draining.signal, ended.signal]);
    const [process = ''] = identity.split('_');
    const instance = `${EVENT_SOURCE}-${process}`;
    const events = createEventSeriesRecorder({ ...shared, component: EVENT_SOURCE, instance, actions: ACTIONS });
    let record: Promise<void> | undefined;
    try {
      await informers.reach(term.epoch, stop);
      fences.set(term, () => informers.cache.revision());
      record = keepLeaderRecord({ ...shared, component, identity }, stop);
      const cycles = { ...shared, cache: informers.cache, view, queue, events, onResult, onPreemption };
      await runSchedulingCycles(cycles, stop, signal);
      await events.flush(signal);
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      ended.abort();
      await record;
      events.close();
      fences.set(undefined, () => 0);
    }
  }
}
