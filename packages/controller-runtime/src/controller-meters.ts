import type { Metrics } from '@gantry/service';
import type { ReconcileReport } from './reconcile-report.ts';
import type { QueueObserver, QueueState } from './queue-meter.ts';

/** Kubernetes' buckets for queues: from 10 ns to 1,000 s, each ten times the previous one. */
const QUEUE_BUCKETS = Array.from({ length: 12 }, (_, i) => 1e-8 * 10 ** i);

/** The names of results in controller-runtime, which counts a conflict as an error. */
const RESULTS = { done: 'success', requeued: 'requeue_after', conflict: 'error', failed: 'error' } as const;

/** The callbacks for reports on reconciles and queues. */
export interface ControllerMetrics {
  readonly onReconcile: (report: ReconcileReport) => void;
  readonly observeQueue: (name: string) => QueueObserver;
}

/**
 * The metrics of controllers with the names of Kubernetes and controller-runtime, and the controller's name as label. `queues` is called at
 * each scrape.
 */
export function createControllerMetrics(metrics: Metrics, queues: () => readonly QueueState[]): ControllerMetrics {
  const seconds = metrics.histogram('controller_runtime_reconcile_time_seconds', 'Time of one reconcile', [
    'controller',
    'result',
  ]);
  const total = metrics.counter('controller_runtime_reconcile_total', 'Reconciles by result', ['controller', 'result']);
  const errors = metrics.counter('controller_runtime_reconcile_errors_total', 'Failed reconciles', ['controller']);
  const waited = metrics.histogram('workqueue_queue_duration_seconds', 'How long keys wait', ['name'], QUEUE_BUCKETS);
  const worked = metrics.histogram(
    'workqueue_work_duration_seconds',
    'How long a key is processed, until the cache shows what was written',
    ['name'],
    QUEUE_BUCKETS,
  );
  reportQueues(metrics, queues);
  return {
    onReconcile: ({ controller, result, seconds: took }) => {
      seconds.observe(took, { controller, result });
      total.inc({ controller, result: RESULTS[result] });
      if (result === 'failed') errors.inc({ controller });
    },
    observeQueue: (name) => {
      const labels = { name };
      return { waited: (value) => waited.observe(value, labels), worked: (value) => worked.observe(value, labels) };
    },
  };
}

function reportQueues(metrics: Metrics, queues: () => readonly QueueState[]): void {
  const gauge = (name: string, help: string, of: (queue: QueueState) => number) =>
    metrics.gauge(name, help, ['name'], ({ set }) => {
      for (const queue of queues()) set(of(queue), { name: queue.name });
    });
  const counter = (name: string, help: string, of: (queue: QueueState) => number) =>
    metrics.counter(name, help, ['name'], ({ inc }) => {
      for (const queue of queues()) inc({ name: queue.name }, of(queue));
    });
  gauge('workqueue_depth', 'Waiting keys', ({ depth }) => depth);
  counter('workqueue_adds_total', 'Added keys', ({ adds }) => adds);
  counter('workqueue_retries_total', 'Keys that were added again after a failure', ({ retries }) => retries);
  gauge(
    'workqueue_unfinished_work_seconds',
    'Processing time so far of all keys that are processed now',
    ({ unfinishedSeconds }) => unfinishedSeconds,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'The longest processing time so far of a key that is processed now',
    ({ longestSeconds }) => longestSeconds,
  );
}
