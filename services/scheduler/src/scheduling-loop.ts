import type { LoopLog, LoopState } from '@gantry/controller-runtime';
import type { DecisionLog } from './decision-log.ts';
import type { SchedulingQueue } from './queue.ts';
import type { ScheduleResult } from './scheduler.ts';

/** What the scheduler shows of itself as one of the control loops. */
export interface SchedulingLoop extends Pick<LoopState, 'name' | 'reconciles'> {
  readonly queue: ReturnType<SchedulingQueue['counts']> & { readonly depth: number };
  readonly decisions: readonly Omit<LoopState['decisions'][number], 'seconds'>[];
}

/** Results as those of a loop: a pod that fits nowhere is tried again. */
const RESULTS = { scheduled: 'done', unschedulable: 'requeued', error: 'failed' } as const;
const DECISIONS = 20;

export function countResult(loop: LoopLog, result: ScheduleResult, seconds: number): void {
  loop.count(RESULTS[result], seconds);
}

/** The scheduler among the control loops. What it considered is a report of its own. */
export function schedulingLoop(queue: SchedulingQueue, loop: LoopLog, log: DecisionLog): SchedulingLoop {
  const counts = queue.counts();
  return {
    name: 'scheduling',
    queue: { depth: counts.active, ...counts },
    reconciles: loop.counts(),
    decisions: log.latest(DECISIONS).map(({ at, pod, outcome, node, message }) => {
      const { namespace, name } = pod;
      const isAssigned = outcome === 'assigned';
      const binding = { verb: 'create', group: '', resource: 'pods', subresource: 'binding', namespace, name } as const;
      return {
        at,
        key: { namespace, name },
        result: isAssigned ? 'done' : 'requeued',
        writes: isAssigned ? [binding] : [],
        writeCount: isAssigned ? 1 : 0,
        events: [
          isAssigned
            ? { reason: 'Scheduled', message: `Successfully assigned ${namespace}/${name} to ${node}` }
            : { reason: 'FailedScheduling', message },
        ],
      };
    }),
  };
}
