import { type Binding, type Pod, StatusError, cloneJson } from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import { checkUpdatePreconditions } from '../objects/preconditions.ts';
import type { ResourceDefinition } from '@gantry/apimachinery';

/** The pod assigned to the node that a Binding names. Pure; throws Conflict when the pod cannot be assigned any more. */
export function bindPod(pod: Pod, binding: Binding, pods: ResourceDefinition, now: Instant): Pod {
  const { name = '' } = pod.metadata;
  const refuse = (why: string) => StatusError.conflict({ group: '', resource: 'pods/binding' }, name, why);
  checkUpdatePreconditions(pod, pods, binding.metadata);
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const assigned = pod.spec?.nodeName ?? '';
  if (assigned !== '') throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(assigned)}`);
  if ((pod.spec?.schedulingGates ?? []).length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  const bound = cloneJson(pod);
  bound.spec = { ...bound.spec, containers: bound.spec?.containers ?? [], nodeName: binding.target.name ?? '' };
  const annotations = { ...bound.metadata.annotations, ...binding.metadata.annotations };
  if (Object.keys(annotations).length > 0) bound.metadata.annotations = annotations;
  // Labels come from admission: those of the node that say where it is.
  if (Object.keys(binding.metadata.labels ?? {}).length > 0) {
    bound.metadata.labels = { ...bound.metadata.labels, ...binding.metadata.labels };
  }
  const others = (bound.status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled');
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  } as unknown as (typeof others)[number];
  const { nominatedNodeName: _, ...status } = bound.status ?? {};
  bound.status = { ...status, conditions: [...others, scheduled] };
  return bound;
}
