import type { ResourceDefinition } from '@gantry/apimachinery';
import { controllerRevisions } from './controller-revision.ts';
import { daemonSets } from './daemon-set.ts';
import { deployments } from './deployment.ts';
import { replicaSets } from './replica-set.ts';
import { statefulSets } from './stateful-set.ts';

/** The kinds of `apps`, in discovery's order. */
export const appsKinds: readonly ResourceDefinition[] = [
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
];
