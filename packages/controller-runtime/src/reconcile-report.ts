import type { ResourceRef } from '@gantry/objects';

/** The outcome of one reconcile, for metrics. */
export interface ReconcileReport {
  readonly controller: string;
  readonly result: 'done' | 'requeued' | 'conflict' | 'failed';
  readonly seconds: number;
}

/** A key was queued again, but its reconcile waits until the cache shows the writes of the last one to this resource. */
export interface StaleReport {
  readonly controller: string;
  readonly resource: ResourceRef;
}
