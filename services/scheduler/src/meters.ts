import { exponentialBuckets, type Metrics } from '@gantry/service';
import type { SchedulerOptions } from './scheduler.ts';

export function reportTo(metrics: Metrics): NonNullable<SchedulerOptions['onResult']> {
  const attempts = metrics.counter('scheduler_schedule_attempts_total', 'Attempts to schedule a pod', ['result']);
  const seconds = metrics.histogram(
    'scheduler_scheduling_attempt_duration_seconds',
    'Time from taking a pod from the queue to the response to its write',
    ['result'],
  );
  return (result, took) => {
    attempts.inc({ result });
    seconds.observe(took, { result });
  };
}

/** As in Kubernetes, the histogram contains only attempts that have victims. */
export function reportPreemptionTo(metrics: Metrics): NonNullable<SchedulerOptions['onPreemption']> {
  const attempts = metrics.counter(
    'scheduler_preemption_attempts_total',
    'Attempts to find victims for an unschedulable pod',
  );
  const victims = metrics.histogram(
    'scheduler_preemption_victims',
    'Victims that an attempt chose',
    [],
    exponentialBuckets(1, 2, 7),
  );
  return (count) => {
    attempts.inc();
    if (count > 0) victims.observe(count);
  };
}
