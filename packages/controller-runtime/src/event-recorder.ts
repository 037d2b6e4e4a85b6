import type { KubeObject } from '@gantry/objects';

/** Writes Events about objects. Counts equal Events as Kubernetes does, limits the rate per object, never blocks and never throws. */
export interface EventRecorder {
  /** `fieldPath` names the part of the object that the Event is about: `spec.containers{web}`. */
  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
}
