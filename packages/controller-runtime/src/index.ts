/**
 * What every control loop runs on: the controllers of the controller-manager, and the caches of the scheduler.
 *
 * - `manager`: runs controllers while this process leads, over one shared cache; `controller` is what they declare
 * - `informers`: the cache and its events, for built-in, custom and aggregated resources; `reflector` lists and watches one
 * - `resource-directory`: which custom and aggregated resources there are
 * - `controller-group`: controllers over one cache, for the manager and for operators outside; `controller-meters` are its metrics
 * - `work-queue`, `controller-runner`: keys, workers, back-off; a key waits until the cache shows the writes of its reconcile
 * - `plan-result`: carries out a `Plan` and turns it into a result
 * - `leader`: works in terms of leadership, with their fences; `leader-record` shows the leader in a Lease
 * - `loop-log`: what each loop did last, `change-loop` that of a loop over changes; `process-report`: what a process says of itself
 * - `event-writer`, `event-series`: Events in both of Kubernetes' forms
 *
 * `./testing` has a silent log and made-up custom and aggregated resources.
 */
export type { Cache } from './cache.ts';
export { ChangeLoop, type RunningChanges } from './change-loop.ts';
export type { ControllerContext, ControllerSpec, Result, WatchSpec } from './controller.ts';
export { ControllerGroup } from './controller-group.ts';
export { createControllerMetrics } from './controller-meters.ts';
export type { ReconcileReport, StaleReport } from './reconcile-report.ts';
export type { EventRecorder } from './event-recorder.ts';
export { createEventSeriesRecorder } from './event-series.ts';
export { createEventRecorder } from './event-writer.ts';
export { executeActions } from './execute-actions.ts';
export { IndexedObjects } from './indexed-objects.ts';
export { type InformedResource, type InformerEvent, Informers, namespacesOf } from './informers.ts';
export { createFenceHolder, Leader, type LeaderOptions } from './leader.ts';
export { LoopLog, type LoopState } from './loop-log.ts';
export { reportedProcess, reportService, runningProcess } from './process-report.ts';
export { QueueMeter } from './queue-meter.ts';
export { planLeaseSpec } from './leader-record.ts';
export { findObject } from './find-object.ts';
export type { Log } from './log.ts';
export { createManager, type ManagerOptions } from './manager.ts';
export { carryOut, lookAgainOnConflict, resultOf } from './plan-result.ts';
export { formatReconcileKey, kindKeyOf, type ReconcileKey } from './reconcile-key.ts';
export { Reflector, type ReflectedChange, type ReflectorEvent } from './reflector.ts';
export type { ObjectChange, ObjectIndex } from './resource-index.ts';
export { parseVersion } from './revision.ts';
export { customResource, groupResource, isEmptied, type ServedResource } from './served-resource.ts';
export { createServedResources, type ServedResources } from './served-resources.ts';
export { ResourceDirectory } from './resource-directory.ts';
export { watchMapped, watchSelf } from './watch-specs.ts';
