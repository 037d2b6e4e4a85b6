/** Reflector, informer cache, work queue, reconcile loop, events and manager: what every control loop runs on. */
export type { Cache } from './cache.ts';
export type { ControllerContext, ControllerSpec, Result, WatchSpec } from './controller.ts';
export type { ReconcileReport } from './controller-runner.ts';
export { createCertificateRequester } from './certificate-requester.ts';
export { type ElectedMember, type ElectedOptions, type Election, type ElectionEvent, runElected } from './elected.ts';
export type { EventRecorder } from './event-recorder.ts';
export { createEventRecorder, type EventRecorderOptions, type EventWriter } from './event-writer.ts';
export { executeActions, type ExecuteOptions } from './execute-actions.ts';
export { type ChangeListener, type InformedResource, Informers, type InformersOptions } from './informers.ts';
export { keepLeaderRecord, type LeaderRecordOptions } from './leader-record.ts';
export { createFenceHolder, type FenceHolder, type Term } from './leadership.ts';
export type { Log } from './log.ts';
export { createManager, type Manager, type ManagerOptions } from './manager.ts';
export { Reflector, type ReflectedChange, type ReflectorEvent, type ReflectorOptions } from './reflector.ts';
export type { Change } from './resource-index.ts';
export { parseVersion, revisionOf } from './revision.ts';
export { watchMapped, watchOwned, watchSelf } from './watch-specs.ts';
export { WorkQueue, type WorkQueueOptions } from './work-queue.ts';
