import { createEventSeriesRecorder, Leader, type LeaderOptions } from '@gantry/controller-runtime';
import { runSchedulingCycles, type SchedulerOptions } from './scheduler.ts';

export interface SchedulingLeaderOptions
  extends Omit<LeaderOptions, 'work'>,
    Omit<SchedulerOptions, 'cache' | 'events'> {}

const EVENT_SOURCE = 'default-scheduler';
const ACTIONS = { Scheduled: 'Binding', FailedScheduling: 'Scheduling', Preempted: 'Preempting' };

/** Creates the part of a scheduler that takes part in the election and schedules while it leads. */
export function createSchedulingLeader(options: SchedulingLeaderOptions): Leader {
  return new Leader({ ...options, work: (stop, signal) => schedule(options, stop, signal) });
}

async function schedule(options: SchedulingLeaderOptions, stop: AbortSignal, signal: AbortSignal): Promise<void> {
  const { identity, informers } = options;
  const [process = ''] = identity.split('_');
  const instance = `${EVENT_SOURCE}-${process}`;
  const events = createEventSeriesRecorder({ ...options, component: EVENT_SOURCE, instance, actions: ACTIONS });
  try {
    await runSchedulingCycles({ ...options, cache: informers.cache, events }, stop, signal);
    await events.flush(signal);
  } finally {
    events.close();
  }
}
