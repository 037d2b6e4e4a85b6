import {
  type KubeObject,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type ResourceRef,
  type VolumeAttributesClass,
} from '@gantry/api';
import {
  type ControllerContext,
  type ControllerSpec,
  type Result,
  watchMapped,
  watchSelf,
} from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { CLAIMS, PODS, VOLUME_ATTRIBUTES, VOLUMES } from '../resources.ts';
import {
  ATTRIBUTES_PROTECTION,
  CLAIM_PROTECTION,
  claimsOf,
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
    watchSelf(CLAIMS),
    watchMapped<Pod>(PODS, (pod) => claimsOf(pod).map((name) => ({ namespace: pod.metadata.namespace ?? '', name }))),
  ],
  reconcile: async (key, context, signal) => {
    const claim = context.cache.get<PersistentVolumeClaim>(CLAIMS, key);
    if (claim?.metadata.deletionTimestamp === undefined) return {};
    if (isClaimUsed(claim, context.cache.list<Pod>(PODS, key.namespace))) return {};
    // Whoever was scheduled a moment ago counts, too.
    const { items } = await context.client.list<Pod>(PODS, { namespace: key.namespace }, signal);
    return await release(CLAIMS, key, planRelease(claim, CLAIM_PROTECTION, isClaimUsed(claim, items)), context, signal);
  },
};

/** Lets volumes go when they are bound no more. */
export const volumeProtectionController: ControllerSpec = {
  name: 'volume-protection',
  eventSource: 'pv-protection-controller',
  watches: [watchSelf(VOLUMES)],
  reconcile: async (key, context, signal) => {
    const volume = context.cache.get<PersistentVolume>(VOLUMES, key);
    if (volume === undefined) return {};
    const plan = planRelease(volume, VOLUME_PROTECTION, isVolumeUsed(volume));
    return await release(VOLUMES, key, plan, context, signal);
  },
};

/** Lets classes of volume attributes go when no claim and no volume names them any more. */
export const attributesProtectionController: ControllerSpec = {
  name: 'attributes-protection',
  eventSource: 'vac-protection-controller',
  watches: [
    watchSelf(VOLUME_ATTRIBUTES),
    watchMapped<PersistentVolumeClaim>(CLAIMS, (claim) => classesOfClaim(claim).map(global)),
    watchMapped<PersistentVolume>(VOLUMES, ({ spec }) => {
      const name = spec?.volumeAttributesClassName;
      return name === undefined ? [] : [global(name)];
    }),
  ],
  reconcile: async (key, context, signal) => {
    const { cache } = context;
    const found = cache.get<VolumeAttributesClass>(VOLUME_ATTRIBUTES, key);
    if (found === undefined) return {};
    const used = isClassUsed(found, cache.list<PersistentVolumeClaim>(CLAIMS), cache.list<PersistentVolume>(VOLUMES));
    return await release(VOLUME_ATTRIBUTES, key, planRelease(found, ATTRIBUTES_PROTECTION, used), context, signal);
  },
};

async function release(
  resource: ResourceRef,
  key: ObjectKey,
  plan: readonly KubeObject[],
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  for (const object of plan) {
    await ignoreNotFound(client.write({ verb: 'update', resource, key, object }, signal));
  }
  return {};
}
