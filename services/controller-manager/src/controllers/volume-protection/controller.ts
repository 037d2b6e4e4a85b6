import type { Plan } from '@gantry/base';
import {
  claimsOfPod,
  type KubeObject,
  type ObjectKey,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Resource,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@gantry/objects';
import { ignoreNotFound } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  type Result,
  watchMapped,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  type Action,
  ATTRIBUTES_PROTECTION,
  CLAIM_PROTECTION,
  classesOfClaim,
  isClaimUsed,
  isClassUsed,
  isVolumeUsed,
  planRelease,
  VOLUME_PROTECTION,
} from './plan.ts';

const global = (name: string): ObjectKey => ({ namespace: '', name });

/** Lets claims go when no pod uses them any more. */
export const claimProtectionController: ControllerSpec = {
  name: 'claim-protection',
  eventSource: 'pvc-protection-controller',
  watches: [
    watchSelf(PERSISTENT_VOLUME_CLAIMS),
    watchMapped(PODS, (pod) => claimsOfPod(pod).map((name) => ({ namespace: pod.metadata.namespace ?? '', name }))),
  ],
  reconcile: async (key, context, signal) => {
    const claim = context.cache.get(PERSISTENT_VOLUME_CLAIMS, key);
    if (claim?.metadata.deletionTimestamp === undefined) return {};
    if (isClaimUsed(claim, context.cache.list(PODS, key.namespace))) return {};
    // Pods that were scheduled a moment ago count too: the store has them.
    const { items } = await context.client.list(PODS, { namespace: key.namespace }, signal);
    return await carryOutRelease(
      PERSISTENT_VOLUME_CLAIMS,
      planRelease(claim, CLAIM_PROTECTION, isClaimUsed(claim, items)),
      context,
      signal,
    );
  },
};

/** Releases volumes that are no longer bound. */
export const volumeProtectionController: ControllerSpec = {
  name: 'volume-protection',
  eventSource: 'pv-protection-controller',
  watches: [watchSelf(PERSISTENT_VOLUMES)],
  reconcile: async (key, context, signal) => {
    const volume = context.cache.get(PERSISTENT_VOLUMES, key);
    if (volume === undefined) return {};
    const plan = planRelease(volume, VOLUME_PROTECTION, isVolumeUsed(volume));
    return await carryOutRelease(PERSISTENT_VOLUMES, plan, context, signal);
  },
};

/** Releases classes of volume attributes that no claim and no volume names. */
export const attributesProtectionController: ControllerSpec = {
  name: 'attributes-protection',
  eventSource: 'vac-protection-controller',
  watches: [
    watchSelf(VOLUME_ATTRIBUTES_CLASSES),
    watchMapped(PERSISTENT_VOLUME_CLAIMS, (claim) => classesOfClaim(claim).map(global)),
    watchMapped(PERSISTENT_VOLUMES, ({ spec }) => {
      const name = spec?.volumeAttributesClassName;
      return name === undefined ? [] : [global(name)];
    }),
  ],
  reconcile: async (key, context, signal) => {
    const { cache } = context;
    const found = cache.get(VOLUME_ATTRIBUTES_CLASSES, key);
    if (found === undefined) return {};
    const used = isClassUsed(found, cache.list(PERSISTENT_VOLUME_CLAIMS), cache.list(PERSISTENT_VOLUMES));
    return await carryOutRelease(
      VOLUME_ATTRIBUTES_CLASSES,
      planRelease(found, ATTRIBUTES_PROTECTION, used),
      context,
      signal,
    );
  },
};

/** Writes the released object, if the plan has one. */
async function carryOutRelease<T extends KubeObject>(
  resource: Resource<T>,
  plan: Plan<Action<T>>,
  { client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  return await carryOut(plan, ({ object }) => ignoreNotFound(client.update(resource, object, signal)), clock);
}
