import { CONFIG_MAPS, hasEnded, JOBS, type KubeObject, PODS, RESOURCE_QUOTAS } from '@gantry/objects';
import { STALE_MS, targetOf } from '../../../controllers/disruption/plan.ts';
import { RECOUNT_MS } from '../../../controllers/resource-quota/plan.ts';
import { autoscalerViolations } from './autoscalers.ts';
import { endpointViolations } from './endpoints.ts';
import { mirrorViolations } from './mirrors.ts';
import type { World } from '../world.ts';
import { volumeViolations } from './volumes.ts';

/** Longer than every back-off, grace period and quarantine. */
const QUIET_MS = 90_000;

/**
 * How long nothing must have changed, in milliseconds, before a cluster counts as being at rest. With a quota this is longer: when a write
 * fails after admission has counted it, the quota is corrected only at its next recount, as in Kubernetes. So is it with a pod that was
 * about to be deleted: the mark of that is taken back later.
 */
export function quietMs(world: World): number {
  const quotaMs = world.all(RESOURCE_QUOTAS).length === 0 ? 0 : RECOUNT_MS;
  const markMs = world.all(PODS).some((pod) => targetOf(pod) !== undefined) ? STALE_MS : 0;
  return QUIET_MS + Math.max(quotaMs, markMs);
}

/** What is wrong with a cluster at rest. */
export function restViolations(world: World): readonly string[] {
  return [
    ...unobserved(world),
    ...orphans(world),
    ...miscounted(world),
    ...autoscalerViolations(world),
    ...endpointViolations(world),
    ...mirrorViolations(world),
    ...volumeViolations(world),
  ];
}

interface Observed extends KubeObject {
  status?: { observedGeneration?: number };
}

/** I21: every status has observed its spec. */
function* unobserved(world: World): Iterable<string> {
  for (const [resource, object] of world.everything()) {
    const { generation = 0, name } = object.metadata;
    const seen = (object as Observed).status?.observedGeneration;
    if (seen !== undefined && seen !== generation) yield `I21: ${resource} ${name}: observed ${seen} of ${generation}`;
  }
}

/** I20: no object survives all its owners or refers to one that is gone, and none waits to be deleted. */
function* orphans(world: World): Iterable<string> {
  const uids = new Set([...world.everything()].map(([, { metadata }]) => metadata.uid));
  for (const [resource, { metadata }] of world.everything()) {
    const { namespace = '', name, ownerReferences = [], deletionTimestamp, finalizers = [] } = metadata;
    const what = `${resource} ${namespace}/${name}`;
    const gone = ownerReferences.filter(({ uid }) => !uids.has(uid));
    const names = gone.map(({ kind, name: owner }) => `${kind} ${owner}`).join();
    if (gone.length > 0 && gone.length === ownerReferences.length) yield `I20: ${what} survives its owners ${names}`;
    else if (gone.length > 0) yield `I20: ${what} still names owners that are gone: ${names}`;
    if (deletionTimestamp !== undefined) yield `I20: ${what} is being deleted for ever, held by ${finalizers.join()}`;
  }
}

/** I19: the counts of quotas match the objects that exist. */
function* miscounted(world: World): Iterable<string> {
  for (const { metadata, status } of world.all(RESOURCE_QUOTAS)) {
    const inNamespace = (object: KubeObject): boolean => object.metadata.namespace === metadata.namespace;
    const counts: Record<string, number> = {
      pods: world.all(PODS).filter((pod) => inNamespace(pod) && !hasEnded(pod)).length,
      configmaps: world.all(CONFIG_MAPS).filter(inNamespace).length,
      'count/jobs.batch': world.all(JOBS).filter(inNamespace).length,
    };
    for (const [name, value] of Object.entries(status?.used ?? {})) {
      if (Number(value) !== counts[name])
        yield `I19: ${metadata.namespace} uses ${counts[name]} ${name}, the quota says ${value}`;
    }
  }
}
