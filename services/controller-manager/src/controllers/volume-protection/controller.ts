import type { Plan } from '@gantry/base';
import {
  ATTRIBUTES_PROTECTION,
  CLAIM_PROTECTION,
  type KubeObject,
  type ObjectKey,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Resource,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_PROTECTION,
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
import { ClaimUses } from './claim-uses.shell.ts';
import { type Action, classesOfClaim, isClassUsed, isVolumeUsed, planProtection } from './plan.ts';

const global = (name: string): ObjectKey => ({ namespace: '', name });

/** Protects claims, and releases them when no pod uses them any more. */
export function createClaimProtectionController(): ControllerSpec {
  const uses = new ClaimUses();
  return {
    name: 'claim-protection',
    eventSource: 'pvc-protection-controller',
    watches: [
      { resource: PERSISTENT_VOLUME_CLAIMS, keys: (claim, old) => uses.takeClaim(claim, old) },
      { resource: PODS, keys: (pod, old) => uses.takePod(pod, old) },
    ],
    begin: () => uses.clear(),
    reconcile: async (key, context, signal) => {
      const claim = context.cache.get(PERSISTENT_VOLUME_CLAIMS, key);
      if (claim === undefined) return {};
      const plan = planProtection(claim, CLAIM_PROTECTION, await uses.isUsed(claim, context, signal));
      return await carryOutProtection(PERSISTENT_VOLUME_CLAIMS, plan, context, signal);
    },
  };
}

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

/** Protects volume attributes classes, and releases those that no claim and no volume uses. */
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

/** Writes the protected or released object, if the plan has one. */
async function carryOutProtection<T extends KubeObject>(
  resource: Resource<T>,
  plan: Plan<Action<T>>,
  { client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  return await carryOut(plan, ({ object }) => ignoreNotFound(client.update(resource, object, signal)), clock);
}
