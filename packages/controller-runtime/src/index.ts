/** Reflector, informer cache, work queue, reconcile loop, events and manager: what every control loop runs on. */
export type { Cache } from './cache.ts';
export type { ControllerContext, ControllerSpec, Result, WatchSpec } from './controller.ts';
export type { EventRecorder } from './event-recorder.ts';
