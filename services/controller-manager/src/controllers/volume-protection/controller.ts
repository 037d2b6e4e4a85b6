import type { Plan } from '@gantry/base';
import {
  claimsOfPod,
  type KubeObject,
  type ObjectKey,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
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
  planProtection,
  VOLUME_PROTECTION,
} from './plan.ts';

const global = (name: string): ObjectKey => ({ namespace: '', name });

/** Protects claims, and lets them go when no pod uses them any more. */
export const claimProtectionController: ControllerSpec = {
  name: 'claim-protection',
  eventSource: 'pvc-protection-controller',
  watches: [
    watchSelf(PERSISTENT_VOLUME_CLAIMS),
    watchMapped(PODS, (pod) => claimsOfPod(pod).map((name) => ({ namespace: pod.metadata.namespace ?? '', name }))),
  ],
  reconcile: async (key, context, signal) => {
    const claim = context.cache.get(PERSISTENT_VOLUME_CLAIMS, key);
    if (claim === undefined) return {};
    const used = await isUsed(claim, context, signal);
    const plan = planProtection(claim, CLAIM_PROTECTION, used);
    return await carryOutProtection(PERSISTENT_VOLUME_CLAIMS, plan, context, signal);
  },
};

/** Protects volumes, and releases those that are no longer bound. */
export const volumeProtectionController: ControllerSpec = {
  name: 'volume-protection',
  eventSource: 'pv-protection-controller',
  watches: [watchSelf(PERSISTENT_VOLUMES)],
  reconcile: async (key, context, signal) => {
    const volume = context.cache.get(PERSISTENT_VOLUMES, key);
    if (volume === undefined) return {};
    const plan = planProtection(volume, VOLUME_PROTECTION, isVolumeUsed(volume));
    return await carryOutProtection(PERSISTENT_VOLUMES, plan, context, signal);
  },
};

/** Protects classes of volume attributes, and releases those that no claim and no volume names. */
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
    return await carryOutProtection(
      VOLUME_ATTRIBUTES_CLASSES,
      planProtection(found, ATTRIBUTES_PROTECTION, used),
      context,
      signal,
    );
  },
};

/** Whether a pod uses a claim that is being deleted; others are not looked up. */
async function isUsed(
  claim: PersistentVolumeClaim,
  { cache, client }: ControllerContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace = '', deletionTimestamp } = claim.metadata;
  if (deletionTimestamp === undefined || isClaimUsed(claim, cache.list(PODS, namespace))) return true;
  // Pods that were scheduled a moment ago count too: the store has them.
  const { items } = await client.list(PODS, { namespace }, signal);
  return isClaimUsed(claim, items);
}

/** Writes the protected or released object, if the plan has one. */
async function carryOutProtection<T extends KubeObject>(
  resource: Resource<T>,
  plan: Plan<Action<T>>,
  { client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  return await carryOut(plan, ({ object }) => ignoreNotFound(client.update(resource, object, signal)), clock);
}
