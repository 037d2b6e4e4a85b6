import { errorMessage } from '@gantry/base';
import { ignoreReasons } from '@gantry/client';
import { carryOut, type ControllerContext, type ControllerSpec, type WatchSpec } from '@gantry/controller-runtime';
import {
  claimsOfPod,
  keyOf,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  PODS,
} from '@gantry/objects';
import { renewing } from '../../libraries/event-renewal.ts';
import type { EphemeralVolumeMeter } from '../../metrics/volumes.ts';
import { type Action, hasEphemeralVolumes, planEphemeralVolumes } from './plan.ts';

/** Queues new pods: their volumes never change. */
const watchPods: WatchSpec<Pod> = {
  resource: PODS,
  keys: (pod, old) => (pod !== undefined && old === undefined && hasEphemeralVolumes(pod) ? [keyOf(pod)] : []),
};

/** Queues the pods with a volume of a deleted claim's name: they get a new claim. */
const watchClaims: WatchSpec<PersistentVolumeClaim> = {
  resource: PERSISTENT_VOLUME_CLAIMS,
  keys: (claim, old, cache) => {
    if (claim !== undefined || old === undefined) return [];
    const { namespace = '', name = '' } = old.metadata;
    return cache
      .list(PODS, namespace)
      .filter((pod) => hasEphemeralVolumes(pod) && claimsOfPod(pod).includes(name))
      .map(keyOf);
  },
};

/** Creates the claims of pods' ephemeral volumes. */
export function createEphemeralVolumeController(meter: EphemeralVolumeMeter): ControllerSpec {
  return {
    name: 'ephemeral-volume',
    eventSource: 'ephemeral_volume',
    watches: [watchPods, watchClaims],
    reconcile: async (key, context, signal) => {
      const { cache, clock } = context;
      const pod = cache.get(PODS, key);
      if (pod === undefined) return {};
      const plan = planEphemeralVolumes(pod, (name) =>
        cache.get(PERSISTENT_VOLUME_CLAIMS, { namespace: key.namespace, name }),
      );
      const result = await carryOut(plan, (action) => carryOutOne(action, pod, { ...context, meter }, signal), clock);
      return plan.actions.some(({ kind }) => kind === 'refuse') ? renewing(result) : result;
    },
  };
}

async function carryOutOne(
  action: Action,
  pod: Pod,
  { client, events, meter }: ControllerContext & { readonly meter: EphemeralVolumeMeter },
  signal: AbortSignal,
): Promise<void> {
  const report = (why: string) =>
    events.event(pod, 'Warning', 'FailedBinding', `ephemeral volume ${action.volume}: ${why}`);
  if (action.kind === 'refuse') {
    report(action.message);
    return;
  }
  const { name = '' } = action.claim.metadata;
  try {
    await ignoreReasons(client.create(PERSISTENT_VOLUME_CLAIMS, action.claim, signal), ['AlreadyExists']);
    meter.created('created');
  } catch (error) {
    meter.created('failed');
    report(`create PVC ${name}: ${errorMessage(error)}`);
    throw error;
  }
}
