import type { KubeObject } from '@gantry/objects';

/** Writes Events about objects: aggregated by count as Kubernetes does, rate-bounded per object, never blocking, never failing the caller. */
export interface EventRecorder {
  /** `fieldPath` names the part of the object that it is about: `spec.containers{web}`. */
  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
}
