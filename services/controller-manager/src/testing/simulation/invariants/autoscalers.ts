import { DEPLOYMENTS, type HorizontalPodAutoscaler, HORIZONTAL_POD_AUTOSCALERS } from '@gantry/objects';
import { LOAD } from '../autoscaling.ts';
import { isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/**
 * An autoscaler never wants more or fewer replicas than its specs have allowed. Zero is always allowed, because a user who scales the
 * target to zero turns the autoscaler off.
 */
export const autoscalerInvariant: Invariant = {
  name: 'I36: an autoscaler stays within its bounds',
  watch: (world, report) => {
    const bounds = new Map<string, { readonly least: number; readonly most: number }>();
    world.subscribe((change) => {
      if (!isOf(change, HORIZONTAL_POD_AUTOSCALERS) || change.object === undefined) return;
      const { metadata, spec, status } = change.object as HorizontalPodAutoscaler;
      const { least, most } = bounds.get(metadata.uid ?? '') ?? { least: Infinity, most: 0 };
      const now = { least: Math.min(least, spec.minReplicas ?? 1), most: Math.max(most, spec.maxReplicas) };
      bounds.set(metadata.uid ?? '', now);
      const wanted = status?.desiredReplicas ?? 0;
      if (wanted !== 0 && (wanted < now.least || wanted > now.most))
        report(`${describeChange(change)}: wants ${wanted}, allowed are ${now.least} to ${now.most}`);
    });
  },
};

/** I21: at rest, each autoscaled Deployment has the number of replicas that its load needs. */
export function* autoscalerViolations(world: World): Iterable<string> {
  for (const { metadata, spec, status } of world.all(HORIZONTAL_POD_AUTOSCALERS)) {
    const { namespace = '', name, annotations = {} } = metadata;
    const target = world.get(DEPLOYMENTS, namespace, spec.scaleTargetRef.name);
    if (target === undefined) continue;
    const asked = Number(annotations[LOAD] ?? 0);
    const wanted = Math.min(spec.maxReplicas, Math.max(spec.minReplicas ?? 1, asked));
    const { replicas } = target.spec ?? {};
    if (replicas !== wanted || status?.currentReplicas !== wanted || status.desiredReplicas !== wanted) {
      yield `I21: ${namespace}/${name} wants ${status?.desiredReplicas}, its target has ${replicas}, the load asks for ${wanted}`;
    }
  }
}
