import { errorMessage } from '@gantry/base';
import type { ReplicaSet } from '@gantry/objects';
import type { Action } from './plan.ts';

/** Kubernetes' words for a selector without requirements. */
export const SELECTING_ALL = 'This deployment is selecting all pods. A non-empty selector is required.';

/** The message of the event that a created or resized set causes; undefined where its size stays. */
export function scalingMessage(action: Extract<Action, { kind: 'createSet' | 'resizeSet' }>): string | undefined {
  const before = action.kind === 'createSet' ? 0 : (action.set.spec?.replicas ?? 0);
  const after = action.kind === 'createSet' ? (action.set.spec?.replicas ?? 0) : action.replicas;
  if (before === after) return undefined;
  const direction = after > before ? 'up' : 'down';
  return `Scaled ${direction} replica set ${action.set.metadata.name ?? ''} from ${before} to ${after}`;
}

export function createFailureMessage(set: ReplicaSet, error: unknown): string {
  return `Failed to create new replica set "${set.metadata.name ?? ''}": ${errorMessage(error)}`;
}
