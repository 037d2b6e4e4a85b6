import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { createControllerMetrics } from './controller-meters.ts';
import type { QueueState } from './queue-meter.ts';

const IDLE: QueueState = { name: 'idle', depth: 0, adds: 0, retries: 0, unfinishedSeconds: 0, longestSeconds: 0 };

it('serves what queues and reconciles report, by controller', async () => {
  const metrics = createMetrics();
  let queues: QueueState[] = [
    IDLE,
    { name: 'job', depth: 3, adds: 9, retries: 2, unfinishedSeconds: 1.5, longestSeconds: 1 },
  ];
  const { onReconcile, observeQueue } = createControllerMetrics(metrics, () => queues);
  observeQueue('job').waited(0.2);
  observeQueue('job').worked(30);
  onReconcile({ controller: 'job', result: 'done', seconds: 0.1 });
  onReconcile({ controller: 'job', result: 'failed', seconds: 0.1 });
  onReconcile({ controller: 'job', result: 'conflict', seconds: 0.1 });
  const served = async () =>
    (await metrics.render()).text.split('\n').filter((line) => /^(workqueue|controller_)/.test(line));
  expect(await served()).toEqual(
    expect.arrayContaining([
      'workqueue_depth{name="idle"} 0',
      'workqueue_depth{name="job"} 3',
      'workqueue_adds_total{name="idle"} 0',
      'workqueue_adds_total{name="job"} 9',
      'workqueue_retries_total{name="job"} 2',
      'workqueue_unfinished_work_seconds{name="job"} 1.5',
      'workqueue_longest_running_processor_seconds{name="job"} 1',
      'workqueue_queue_duration_seconds_bucket{le="0.1",name="job"} 0',
      'workqueue_queue_duration_seconds_bucket{le="1",name="job"} 1',
      'workqueue_queue_duration_seconds_count{name="job"} 1',
      'workqueue_work_duration_seconds_sum{name="job"} 30',
      'controller_runtime_reconcile_total{controller="job",result="success"} 1',
      'controller_runtime_reconcile_total{controller="job",result="error"} 2',
      'controller_runtime_reconcile_errors_total{controller="job"} 1',
      'controller_runtime_reconcile_time_seconds_count{controller="job",result="done"} 1',
    ]),
  );
  queues = [IDLE, { ...IDLE, name: 'job', adds: 10 }];
  expect(await served()).toContain('workqueue_adds_total{name="job"} 10');
});
